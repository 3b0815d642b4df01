#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The load of a model beside plain O_DIRECT reads of the same file, alternating in one run.

    python3 bench/load.py build/src/tools/tenon MODEL.gguf [--rounds 5]

The plain reader is fio (Debian's package) with io_uring, 32 reads of 1 MiB in flight; without it, 32 threads of preadv
into page-aligned memory, which Python slows down.  Printed: both rates and the share
round by round as minimum, median, maximum.
"""
import argparse
import json
import mmap
import os
import shutil
import statistics
import subprocess
import threading
import time

CHUNK, DEPTH = 1 << 20, 32


def fio_rate(path):
    out = subprocess.run(["fio", "--name=load", "--filename=" + path, "--readonly", "--rw=read", "--direct=1",
                          "--ioengine=io_uring", "--bs=1M", "--iodepth=32", "--output-format=json"], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)["jobs"][0]["read"]["bw_bytes"]


def threads_rate(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    size = os.fstat(fd).st_size
    offsets = iter(range(0, size, CHUNK))
    lock = threading.Lock()

    def reader():
        memory = mmap.mmap(-1, CHUNK)
        while True:
            with lock:
                at = next(offsets, None)
            if at is None:
                return
            os.preadv(fd, [memory], at)

    threads = [threading.Thread(target=reader) for _ in range(DEPTH)]
    begin = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    rate = size / (time.monotonic() - begin)
    os.close(fd)
    return rate


def load_rate(tenon, model):
    out = subprocess.run([tenon, "bench", "-q", "-m", model, "-p", "1", "-n", "1", "--repeat", "1", "--json"], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)["load_bytes_per_s"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tenon")
    p.add_argument("model")
    p.add_argument("--rounds", type=int, default=5)
    a = p.parse_args()
    direct_rate = fio_rate if shutil.which("fio") else threads_rate
    direct_rate(a.model)                        # the first pass over a file may be slower for both
    shares = []
    for i in range(a.rounds):
        disk, load = direct_rate(a.model), load_rate(a.tenon, a.model)
        shares.append(load / disk)
        print(f"round {i + 1}: O_DIRECT {disk / 1e9:.2f} GB/s, load {load / 1e9:.2f} GB/s", flush=True)
    print(f"load / O_DIRECT (min median max): {min(shares):.2f} {statistics.median(shares):.2f} {max(shares):.2f}")


if __name__ == "__main__":
    main()
