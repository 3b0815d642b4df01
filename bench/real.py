#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For `meson test --benchmark`: report.py on SmolLM2, where TENON_TEST_MODELS has it; else skipped.

    TENON_TEST_MODELS=DIR python3 bench/real.py TENON KERNELS [options of report.py]
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "harness"))
from cases import Skip, model

try:
    path = model("smollm2")
except Skip as reason:
    print(f"SKIP: {reason}")
    sys.exit(77)
sys.stdout.flush()
os.execv(sys.executable, [sys.executable, os.path.join(HERE, "report.py"), *sys.argv[1:3], path, *sys.argv[3:]])
