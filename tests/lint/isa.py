#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No instruction leaks out of its level, and each level exports one symbol.

Objects of sources under kernels/<level>/ may hold what the level is made of; every other object of the build
is plain x86-64; what is compiled with -DKERNEL_EMULATE needs AVX2 and no more.  The kernels import nothing of libc but what moves memory and what rounds correctly (fma, sqrt):
no allocation, no I/O, no libm function whose bits differ between machines; the answer's path above them neither.
"""
import os
import re
import subprocess

import commands
import tree

# What an instruction set shows in a disassembly.  VEX and EVEX mnemonics begin with v; the exceptions are older.  EVEX
# is known by its first byte alone: `vpdpbusd %ymm1,%ymm2,%ymm3` has both forms, and assemblers prefer the longer one.
MARKS = {
    "evex": re.compile(r"^ *[0-9a-f]+:\t((26|2e|36|3e|64|65|67) )*62 "),
    "zmm": re.compile(r"%zmm\d|%[xy]mm(1[6-9]|2\d|3[01])\b|%k[1-7]\b"),
    "tile": re.compile(r"%tmm\d|\btile(release|zero|loadd)\b"),
    "ymm": re.compile(r"%ymm\d"),
    "vex": re.compile(r"\t(\{\w+\} )?(?!verr\b|verw\b|vm(call|launch|resume|xoff|func)\b)v[a-z0-9]+\b"),
    "bmi": re.compile(r"\t(andn|bextr|blsi|blsr|blsmsk|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|lzcnt|movbe)[lqw]?\b"),
}
LEVELS = {      # folder of kernels/ -> marks it may show
    "avx2": {"ymm", "vex", "bmi"},
    "avxvnni": {"ymm", "vex", "bmi"},
    "avx512": {"ymm", "vex", "bmi", "zmm", "evex"},
    "amx": {"ymm", "vex", "bmi", "zmm", "evex", "tile"},
}
KERNEL_IMPORTS = re.compile(r"^(kernel_\w+|tensor_type\w*|mem(cpy|set|move|cmp)|__mem(cpy|set|move)_chk|str(cmp|len)|fmaf?|sqrtf?|"
                            r"__stack_chk_fail|_GLOBAL_OFFSET_TABLE_)$")
# Functions of libm that glibc may compute in different bits on different machines.
LIBM = re.compile(r"^(__)?(exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|sincos|tan|asin|acos|atan|atan2|sinh|cosh|"
                  r"tanh|erf|erfc|tgamma|lgamma|cbrt|hypot)f?(_finite)?$")
ANSWER_PATH = ("kernels/", "src/graph/", "src/engine/")


def level_of(source):
    parts = source.split("/")
    return parts[1] if parts[0] == "kernels" and len(parts) > 2 and parts[1] in LEVELS else None


def emulated(command):
    return "-DKERNEL_EMULATE" in command.words


def disassemble(path):
    return subprocess.run(["objdump", "-d", "--wide", path], check=True, text=True, capture_output=True).stdout


def symbols(path):
    """(imported, exported): undefined names, and global names that are not hidden."""
    table = subprocess.run(["readelf", "-sW", path], check=True, text=True, capture_output=True).stdout
    imported, exported = set(), set()
    for line in table.splitlines():
        words = line.split()
        if len(words) < 8 or words[4] not in ("GLOBAL", "WEAK"):
            continue
        if words[6] == "UND":
            imported.add(words[7])
        elif words[5] == "DEFAULT":
            exported.add(words[7])
    return imported, exported


def check_instructions(source, path, allowed):
    seen = {}
    for line in disassemble(path).splitlines():
        for name in set(MARKS) - allowed:
            if MARKS[name].search(line):
                seen.setdefault(name, []).append(line.split("\t")[-1].strip())
    for name, lines in sorted(seen.items()):
        yield f"{source}: {len(lines)} {name} instructions outside their level, the first: {lines[0]}"


def check_imports(source, imported):
    if source.startswith("kernels/"):
        for name in sorted(n for n in imported if not KERNEL_IMPORTS.match(n)):
            yield f"{source}: a kernel calls {name}()"
    elif source.startswith(ANSWER_PATH):
        for name in sorted(n for n in imported if LIBM.match(n)):
            yield f"{source}: {name}() of libm lies on the path of the answer (NUMERICS.md)"


def check_exports(exports):
    for level, names in sorted(exports.items()):
        if names != {f"kernel_ops_init_{level}"}:
            yield f"kernels/{level}: exports {', '.join(sorted(names)) or 'nothing'}, not kernel_ops_init_{level} alone"


def run(compiled):
    findings, exports, count = [], {}, 0
    for c in compiled:
        if c.source.startswith("..") or not os.path.exists(c.object):
            continue
        count += 1
        if emulated(c):         # a test for CPUs that lack the level: nothing of it may be left
            findings += check_instructions(c.source, c.object, LEVELS["avx2"])
            continue
        findings += check_instructions(c.source, c.object, LEVELS.get(level_of(c.source), set()))
        imported, exported = symbols(c.object)
        findings += check_imports(c.source, imported)
        parts = c.source.split("/")
        if parts[0] == "kernels" and len(parts) > 2:
            exports.setdefault(parts[1], set()).update(exported)
    return findings + list(check_exports(exports)), count


def main():
    a = tree.arguments(__doc__).parse_args()
    tree.finish("isa", *run(commands.load(a.root, a.build)))


if __name__ == "__main__":
    main()
