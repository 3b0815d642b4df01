#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the inner loops of the AVX-512 and AMX matmuls should take, by llvm-mca, for a CPU that may not be at hand.

    bench/mca.py BUILD [--mca llvm-mca-19]

Of AMX only what is AVX-512 is simulated: LLVM's model of Sapphire Rapids has no throughput for tiles.  Theirs is what
Intel's optimization manual gives: TDP 16 cycles, TILELOADD 8, TILESTORED 16.  That model also gives integer products of
512 bits to one port, of two; Ice Lake's does not, and its ports are the same.  A bound is given for both kinds of units
side by side (overlap) and one after the other; the truth lies between.  Taking apart counts for 32 columns, the tokens
of a task of the graph, and for 128.
"""
import argparse
import os
import re
import subprocess

TDP, LOAD, STORE = 16, 8, 16
K_TYPES = ("q2_k", "q3_k", "q4_k", "q5_k", "q6_k")
JUMP = re.compile(r"\tj[a-z]+\s+([0-9a-f]+)")


def listing(path, symbol):
    """[(address, instruction)] of one function."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=" + symbol, path], check=True,
                          text=True, capture_output=True).stdout
    found = re.findall(r"^\s*([0-9a-f]+):(\t.*)$", text, re.M)
    return [(int(a, 16), re.sub(r"\s*#.*", "", i).rstrip()) for a, i in found]


def innermost_loops(code):
    """Bodies between the target of a jump backwards and the jump, with no other such jump inside."""
    where = {a: n for n, (a, _) in enumerate(code)}
    spans = []
    for n, (_, text) in enumerate(code):
        jump = JUMP.match(text)
        if jump and where.get(int(jump.group(1), 16), n + 1) <= n:
            spans.append((where[int(jump.group(1), 16)], n))
    for first, last in spans:
        if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in spans):
            yield [text for _, text in code[first:last + 1]]


def cycles(body, cpu, mca):
    """Of one run through a loop's body."""
    lines = [re.sub(r"<.*>", "", i) for i in body if not JUMP.match(i) and "\tcall" not in i]
    lines = [re.sub(r"\(%rip\)", "(%rsp)", i) for i in lines]
    out = subprocess.run([mca, "-mcpu=" + cpu, "-iterations=200"], input="\n".join(lines) + "\n", check=True, text=True,
                         capture_output=True).stdout
    return int(re.search(r"Total Cycles:\s*(\d+)", out).group(1)) / 200


def count(body, word):
    return sum(word in i for i in body)


def amx_k(path, name, cpu, mca):
    """A row group times 32 columns, one record: 16 * 32 * 256 products."""
    loops = list(innermost_loops(listing(path, "matmul_" + name)))
    fold = [b for b in loops if count(b, "vpmullw")]
    joined = [b for b in loops if count(b, "vcvtdq2ps") and not count(b, "tdp")]
    one_column = min((b for b in joined), key=len)
    bytes_of = 1 if name == "q2_k" else 2
    tiles = 4 * 2 * bytes_of * TDP
    memory = 4 * (2 + bytes_of) * LOAD + 2 * bytes_of * STORE
    floats = 32 * cycles(one_column, cpu, mca) / max(1, count(one_column, "vmovaps\t%zmm"))
    opened = 4 * cycles(max(fold, key=len), cpu, mca)
    macs = 16 * 32 * 256
    both = [(macs / (max(tiles, memory, floats) + opened / n), macs / (tiles + floats + opened / n)) for n in (1, 4)]
    print(f"amx    {name:7} {cpu:15} tiles {tiles:4.0f}  floats {floats:6.1f}  taking apart {opened:6.1f} cycles;  MAC/cycle at 32 "
          f"columns {both[0][1]:4.0f} to {both[0][0]:4.0f}, at 128 {both[1][1]:4.0f} to {both[1][0]:4.0f}")


def amx_32(path, name, cpu, mca):
    """Two row groups times 32 columns, one block: 2 * 16 * 32 * 32 products.  A product of half a tile counts whole."""
    body = max(innermost_loops(listing(path, "segment_" + name)),
               key=lambda b: count(b, "vcvtdq2ps") if not count(b, "tdp") else 0)
    floats = 64 * cycles(body, cpu, mca) / count(body, "vcvtdq2ps")
    tiles, memory, macs = 4 * TDP, 2 * LOAD + 2 * LOAD / 2 + 4 * STORE, 2 * 16 * 32 * 32
    print(f"amx    {name:7} {cpu:15} tiles {tiles:4.0f}  floats {floats:6.1f} cycles;  MAC/cycle without taking apart "
          f"{macs / (tiles + floats):4.0f} to {macs / max(tiles, memory, floats):4.0f}")


def avx512(path, symbol, cpu, mca):
    """The loop with most vpdpbusd: 64 products each."""
    loops = [b for b in innermost_loops(listing(path, symbol)) if count(b, "vpdpbusd")]
    if loops:
        body = max(loops, key=lambda b: count(b, "vpdpbusd"))
        macs = 64 * count(body, "vpdpbusd")
        print(f"avx512 {symbol:24} {cpu:15} {macs / cycles(body, cpu, mca):6.1f} MAC/cycle without taking apart")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--mca", default="llvm-mca-19")
    a = p.parse_args()
    objects = os.path.join(a.build, "kernels", "libkernels_{0}.a.p", "{0}_{1}.c.o")
    for cpu in ("icelake-server", "sapphirerapids"):
        for name in K_TYPES:
            amx_k(objects.format("amx", "matmul_k"), name, cpu, a.mca)
        for name in ("pair", "m_pair"):
            amx_32(objects.format("amx", "matmul_32"), name, cpu, a.mca)
        for name in ("q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q6_k_16"):
            avx512(objects.format("avx512", "many_k"), f"many_{name}_12_0", cpu, a.mca)
        for name in ("offset", "m"):
            avx512(objects.format("avx512", "many_32"), f"many_{name}_12_0", cpu, a.mca)


if __name__ == "__main__":
    main()
