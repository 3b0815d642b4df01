# SPDX-License-Identifier: Apache-2.0
"""What a reader of numbers wants to know of the machine they come from."""
import glob
import os
import re

CPU = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"
PAGES = {"hugepages-2048kB": "2 MiB", "hugepages-1048576kB": "1 GiB"}


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read(65536).strip()
    except OSError:
        return ""


def cpu_name():
    found = re.search(r"^model name\s*:\s*(.*)$", read("/proc/cpuinfo"), re.M)
    return found[1] if found else os.uname().machine


def caches():
    out = []
    for index in sorted(glob.glob(f"{CPU}/cpu0/cache/index[0-9]*")):
        kind = read(f"{index}/type")
        if kind != "Instruction":
            out.append(f"L{read(f'{index}/level')} {read(f'{index}/size')} shared by CPUs {read(f'{index}/shared_cpu_list')}")
    return ", ".join(out)


def nodes():
    out = []
    for path in sorted(glob.glob(f"{NODES}/node[0-9]*"), key=lambda p: int(p.rsplit("node", 1)[1])):
        total = re.search(r"MemTotal:\s*(\d+) kB", read(f"{path}/meminfo"))
        size = f", {int(total[1]) / 1048576:.1f} GiB" if total else ""
        out.append(f"node {path.rsplit('node', 1)[1]}: CPUs {read(f'{path}/cpulist')}{size}")
    return "; ".join(out)


def free_pages(folder):
    return sum(int(read(p) or 0) for p in glob.glob(f"{NODES}/node*/hugepages/{folder}/free_hugepages"))


def facts():
    uname = os.uname()
    load = os.getloadavg()
    out = {"CPU": cpu_name(), "caches": caches(), "nodes": nodes(), "CPUs of this process": len(os.sched_getaffinity(0)),
           "kernel": f"{uname.sysname} {uname.release}", "load before": f"{load[0]:.2f} {load[1]:.2f} {load[2]:.2f}",
           "microcode": (re.search(r"^microcode\s*:\s*(\S+)", read("/proc/cpuinfo"), re.M) or ["", ""])[1],
           "frequency governor": read(f"{CPU}/cpu0/cpufreq/scaling_governor"),
           "hypervisor": "yes" if re.search(r"^flags\s*:.*\bhypervisor\b", read("/proc/cpuinfo"), re.M) else "no",
           "transparent huge pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
           "of shared memory": read("/sys/kernel/mm/transparent_hugepage/shmem_enabled")}
    for folder, name in PAGES.items():
        out[f"free pages of {name}"] = free_pages(folder)
    return {k: v for k, v in out.items() if v != ""}
