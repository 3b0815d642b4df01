#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenon beside llama.cpp on the same file with the same threads, alternating in one run so that noise hits both.

    python3 -m venv V && V/bin/pip install llama-cpp-python       (builds from source: a quarter of an hour)
    V/bin/python bench/peers/beside_llama_cpp.py build/src/tools/tenon MODEL.gguf [-t 2] [-p 512] [-n 64] [--rounds 5]

Each round is a fresh process of either.  Printed: tokens per second of both, and the ratio round by round as
minimum, median, maximum.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time


def peer(model, threads, prompt, generate):
    """One process's measurement of llama.cpp: prefill of `prompt` tokens, then `generate` greedy ones."""
    import llama_cpp

    llm = llama_cpp.Llama(model, n_ctx=prompt + generate + 8, n_batch=512, n_ubatch=512, n_threads=threads,
                          n_threads_batch=threads, logits_all=False, verbose=False)
    ids = [(i * 2654435761 >> 7) % (llm.n_vocab() - 1) for i in range(prompt)]
    best = {"prefill": 0.0, "decode": 0.0}
    for _ in range(2):
        llm.reset()
        begin = time.monotonic()
        llm.eval(ids)
        prefill = time.monotonic() - begin
        begin = time.monotonic()
        for _ in range(generate):
            llm.eval([llm.sample(temp=0.0)])
        decode = time.monotonic() - begin
        best["prefill"] = max(best["prefill"], prompt / prefill)
        best["decode"] = max(best["decode"], generate / decode)
    return best


def run_peer(a):
    out = subprocess.run([sys.executable, __file__, "--peer", a.tenon, a.model, "-t", str(a.threads), "-p",
                          str(a.prompt), "-n", str(a.generate)], check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1])


def run_tenon(a):
    out = subprocess.run([a.tenon, "bench", "-q", "-m", a.model, "-t", str(a.threads), "-p", str(a.prompt), "-n",
                          str(a.generate), "--repeat", "2", "--json"], check=True, capture_output=True, text=True).stdout
    j = json.loads(out)
    return {"prefill": j["prefill"]["tokens_per_s"], "decode": j["decode"]["tokens_per_s"],
            "fraction": j["decode"]["bandwidth_fraction"], "bandwidth": j["read_bandwidth_bytes_per_s"]}


def spread(values):
    return f"{min(values):.2f} {statistics.median(values):.2f} {max(values):.2f}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tenon")
    p.add_argument("model")
    p.add_argument("-t", "--threads", type=int, default=2)
    p.add_argument("-p", "--prompt", type=int, default=512)
    p.add_argument("-n", "--generate", type=int, default=64)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.peer:
        print(json.dumps(peer(a.model, a.threads, a.prompt, a.generate)))
        return
    ours, theirs = [], []
    for i in range(a.rounds):
        ours.append(run_tenon(a))
        theirs.append(run_peer(a))
        print(f"round {i + 1}: tenon prefill {ours[-1]['prefill']:.1f} decode {ours[-1]['decode']:.1f}, "
              f"llama.cpp prefill {theirs[-1]['prefill']:.1f} decode {theirs[-1]['decode']:.1f} tokens/s", flush=True)
    for what in ("prefill", "decode"):
        print(f"{what:8} ratio (min median max): {spread([o[what] / t[what] for o, t in zip(ours, theirs)])}")
    print(f"decode's share of the read bandwidth (min median max): {spread([o['fraction'] for o in ours])}")


if __name__ == "__main__":
    main()
