#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions per token, which need no clock and no quiet machine: a regression shows in them on any host.

    python3 bench/instructions.py TENON MODEL.gguf [--isa avx2] [--args "--kv q8"]          (Debian's valgrind)

One worker under callgrind, which counts what is executed and knows nothing above AVX2.  Two runs that differ only in the
tokens that they generate, and two that differ only in the prompt, tell what one token costs; load and start cancel out.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

GENERATED = (4, 12)
PROMPTS = (8, 72)


def instructions(a, prompt, generate):
    """Executed by a whole process that continues a prompt of so many short words."""
    with tempfile.TemporaryDirectory() as here:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.path.join(here, 'out')}", a.tenon, "run", "-q",
             "-m", a.model, "-t", "1", "--isa", a.isa, "--io", "preadv", "--memory", "4k", "-c", "256", "-n",
             str(generate), "--ignore-eos", "-p", " the" * prompt, *shlex.split(a.args)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        raise SystemExit(f"callgrind: exit {done.returncode}\n{done.stderr}")
    return int(found[1])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tenon")
    p.add_argument("model")
    p.add_argument("--isa", default="avx2")
    p.add_argument("--args", default="", help='more for tenon, one word: --args="--kv q8"')
    a = p.parse_args()
    if not shutil.which("valgrind"):
        raise SystemExit("there is no valgrind (Debian: valgrind)")
    few = instructions(a, PROMPTS[0], GENERATED[0])
    decode = (instructions(a, PROMPTS[0], GENERATED[1]) - few) / (GENERATED[1] - GENERATED[0])
    prefill = (instructions(a, PROMPTS[1], GENERATED[0]) - few) / (PROMPTS[1] - PROMPTS[0])
    print(f"decode  {decode * 1e-6:10.2f} million instructions per token")
    print(f"prefill {prefill * 1e-6:10.2f} million instructions per token ({PROMPTS[1] - PROMPTS[0]} tokens more)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
