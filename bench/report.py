#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What this machine does, in one run: kernels against the roofline, the engine over prompts, sequences and contexts,
levels, pages, pinning and placements beside one another.

    python3 bench/report.py build/src/tools/tenon build/bench/kernels MODEL.gguf [--quick] [--out DIR]

Writes report.json and report.html into DIR, and prints a table.  The page opens alone.  What is compared alternates round
by round, each a fresh process, so that what else the machine does hits all of it.  Exit 0; 1 where the model could not be
measured at all; what could not be compared is named and left out.
"""
import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys

import host
import page
from plot import spread

FULL = {"prefill": "1,2,4,8,16,32,64,128,256,512,1024,2048,4096", "batches": "1,2,4,8,16,32,64",
        "contexts": "0,1024,2048,4096,8192,16384,32768", "prompt": 512, "generate": 64, "rounds": 5}
QUICK = {"prefill": "1,16,64", "batches": "1,2,4", "contexts": "0,64", "prompt": 32, "generate": 4, "rounds": 1}
PAGES = (("4 KiB", "4k"), ("transparent", "thp"), ("2 MiB", "2m"), ("1 GiB", "ladder"))


class Runs:
    """Runs commands and keeps what they said, what they were and what failed."""

    def __init__(self, a):
        self.a, self.commands, self.skipped = a, [], []

    def json(self, what, words):
        line = " ".join(shlex.quote(w) for w in words)
        if line not in self.commands:
            self.commands.append(line)
        print(f"report: {what}", file=sys.stderr, flush=True)
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode == 0:
            return json.loads(done.stdout)
        said = (done.stderr.strip().splitlines() or ["no word"])[-1]
        self.skipped.append(f"{what}: {said} (exit {done.returncode})")
        return None

    def bench(self, what, *words):
        threads = ["-t", str(self.a.threads)] if self.a.threads else []
        return self.json(what, [self.a.tenon, "bench", "-q", "--json", "-m", self.a.model, "-p", str(self.a.prompt),
                                "-n", str(self.a.generate), *threads, *words])


def measure_kernels(runs, a):
    return runs.json("kernels", [a.kernels, "--json", *(["--quick"] if a.quick else [])])


def measure_sweeps(runs, a):
    """Keys and values are held for the most sequences times the longest context: sequences and contexts apart."""
    found = {"one": runs.bench("prompts", "--repeat", str(a.rounds), "--prefill", a.prefill),
             "batches": runs.bench("sequences", "--repeat", str(a.rounds), "--batches", a.batches),
             "contexts": runs.bench("contexts", "--repeat", "1", "--contexts", a.contexts)}
    return {k: v for k, v in found.items() if v}


def variants_of(base, levels, runs):
    """(kind, name, options) of what is compared on this machine; what cannot be is named."""
    out = [("levels", name, ["--isa", name]) for name in levels if name != "ref"]
    free = {"2m": host.free_pages("hugepages-2048kB"), "ladder": host.free_pages("hugepages-1048576kB")}
    for name, word in PAGES:
        if free.get(word) == 0:
            runs.skipped.append(f"pages of {name}: none is reserved and free")
        elif word == "ladder" and base["model"]["weight_bytes"] < 1 << 30:
            runs.skipped.append(f"pages of {name}: the weights are smaller than one")
        else:
            out.append(("pages", name, ["--memory", word]))
    out += [("pinning", "pinned", []), ("pinning", "not pinned", ["--no-pin"])]
    if base["nodes"] > 1:
        out += [("placement", word, ["--placement", word]) for word in ("shard", "local", "mirror")]
    else:
        runs.skipped.append("placements: one node")
    return out


def measure_variants(runs, a, variants):
    found = {}
    for kind, name, _ in variants:
        found.setdefault(kind, {})[name] = []
    failed = set()
    for i in range(a.rounds):
        for kind, name, words in variants if i % 2 == 0 else reversed(variants):
            got = None if (kind, name) in failed else runs.bench(f"{kind}, {name}, round {i + 1}", "--repeat", "1", *words)
            if got:
                found[kind][name].append(got)
            else:
                failed.add((kind, name))
    return found


def version(tenon):
    return subprocess.run([tenon, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def measure(a):
    runs = Runs(a)
    report = {"tenon": version(a.tenon), "quick": a.quick, "model_file": os.path.basename(a.model),
              "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), "host": host.facts(),
              "kernels": measure_kernels(runs, a), "sweeps": measure_sweeps(runs, a), "compare": {}}
    if report["sweeps"]:
        levels = [m["level"] for m in report["kernels"]["levels"]] if report["kernels"] else []
        variants = variants_of(next(iter(report["sweeps"].values())), levels, runs)
        report["compare"] = measure_variants(runs, a, variants)
    report["commands"], report["skipped"] = runs.commands, runs.skipped
    return report


def three(values):
    return " ".join(f"{v:9.2f}" for v in spread(values))


def print_table(report):
    for m in report["kernels"]["levels"] if report["kernels"] else []:
        print(f"{m['level']:8} int8 {m['int8_macs_per_s'] / 1e9:8.1f} GMAC/s, {m['int8_macs_per_cycle']:6.1f} per cycle; "
              f"memory {m['read_bytes_per_s']['memory'] / 1e9:6.1f} GB/s by one thread")
    for name, what in (("prompts", "tokens"), ("batches", "batch"), ("contexts", "context")):
        for sweep in report["sweeps"].values():
            for p in sweep[name]:
                print(f"{name:10} {p[what]:7} {p['tokens_per_s']:10.1f} tokens/s, ms (min median max) "
                      f"{three([1e3 * s for s in p['seconds']])}")
    for kind, variants in report["compare"].items():
        for name, found in variants.items():
            if found:
                print(f"{kind:10} {name:12} prefill {three([r['prefill']['tokens_per_s'] for r in found])}   decode "
                      f"{three([r['decode']['tokens_per_s'] for r in found])} tokens/s (min median max)")
    for line in report["skipped"]:
        print(f"left out: {line}")


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tenon", help="the program, or a report.json to draw again")
    p.add_argument("kernels", nargs="?")
    p.add_argument("model", nargs="?")
    p.add_argument("--quick", action="store_true", help="whether it works, not how fast")
    p.add_argument("--out", default=".", help="folder of report.json and report.html (default: here)")
    p.add_argument("-t", "--threads", type=int, default=0)
    p.add_argument("-p", "--prompt", type=int, help="prompt tokens where variants are compared")
    p.add_argument("-n", "--generate", type=int, help="tokens of an answer, everywhere")
    p.add_argument("--rounds", type=int)
    p.add_argument("--prefill", metavar="N,N,…")
    p.add_argument("--batches", metavar="N,N,…")
    p.add_argument("--contexts", metavar="N,N,…")
    a = p.parse_args()
    for key, value in (QUICK if a.quick else FULL).items():
        if getattr(a, key) is None:
            setattr(a, key, value)
    a.again = a.tenon.endswith(".json") and a.model is None
    if not a.again and not a.model:
        p.error("TENON KERNELS MODEL, or a report.json")
    return a


def main():
    a = arguments()
    os.makedirs(a.out, exist_ok=True)
    if a.again:
        with open(a.tenon, encoding="utf-8") as f:
            report = json.load(f)
    else:
        report = measure(a)
        with open(os.path.join(a.out, "report.json"), "w", encoding="utf-8") as f:
            json.dump(report, f, indent=1)
            f.write("\n")
    drawn = os.path.join(a.out, "report.html")
    with open(drawn, "w", encoding="utf-8") as f:
        f.write(page.page(report))
    print_table(report)
    print(f"page: {os.path.abspath(drawn)}")
    return 0 if report["sweeps"] else 1


if __name__ == "__main__":
    sys.exit(main())
