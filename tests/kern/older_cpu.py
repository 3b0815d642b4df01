#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On an older CPU, emulated: no instruction leaks out of its level, and the bits are the same.

    older_cpu.py CPU LEVELS CHECKKERN       LEVELS: what this CPU has above ref, with commas, or "none"

checkkern compares every kernel with ref; an instruction that the CPU lacks ends it with a signal.  Exit 77: no emulator.
"""
import re
import shutil
import subprocess
import sys

EMULATOR = "qemu-x86_64"
FUNCTIONS = ["cpu", "exp", "matmul", "vector", "attend", "selftest"]        # the others do not depend on the level


def check(emulator, cpu, wanted, checkkern, function):
    done = subprocess.run([emulator, "-cpu", cpu, checkkern, "--fast", "--soft-guards", "--function", function],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print("\n".join(line for line in done.stdout.splitlines() if "doesn't support requested feature" not in line))
    if done.returncode:
        return f"{function}: exit {done.returncode}"
    skipped = set(re.findall(r"^skipped: level (\w+),", done.stdout, re.M))
    named = set(re.findall(r"^level (\w+)$", done.stdout, re.M))
    if named != wanted or not skipped or named & skipped:
        return f"{function}: ran {sorted(named)} and skipped {sorted(skipped)}, not {sorted(wanted)}"
    return None


def main(cpu, levels, checkkern):
    emulator = shutil.which(EMULATOR)
    if not emulator:
        print(f"SKIP {cpu}: there is no {EMULATOR} (Debian: qemu-user)")
        return 77
    wanted = set() if levels == "none" else set(levels.split(","))
    for function in FUNCTIONS:
        wrong = check(emulator, cpu, wanted, checkkern, function)
        if wrong:
            print(f"FAILED on {cpu}: {wrong}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
