#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each lint finds what is planted for it in a small tree, and nothing in the same tree before."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import commands
import headers
import isa
import layers
import style

HERE = os.path.dirname(os.path.abspath(__file__))
LICENCE = "/* SPDX-License-" + "Identifier: Apache-2.0 */\n"
CLEAN = {
    "src/base/base.h": LICENCE + "#pragma once\n#include <stdint.h>\n",
    "src/base/base.c": LICENCE + '#include <stdio.h>\n\n#include "src/base/base.h"\n\nint base(void)\n{\n    return 0;\n}\n',
    "src/model/model.c": LICENCE + '#include "src/base/base.h"\n#include "kernels/ops.h"\n',
    "src/client/tenon.h": LICENCE + "#pragma once\n#include <stdint.h>\n",
    "kernels/ops.h": LICENCE + "#pragma once\n#include <stdint.h>\n",
    "kernels/avx2/level.c": LICENCE + '#include <immintrin.h>\n#include "kernels/ops.h"\n'
                            "void kernel_ops_init_avx2(float *x);\n"
                            "void kernel_ops_init_avx2(float *x) { _mm256_storeu_ps(x, _mm256_setzero_ps()); }\n",
    "io/ring.c": LICENCE + '#include <liburing.h>\n#include "src/base/base.h"\n',
    "numa/topology.c": LICENCE + "#include <hwloc.h>\n",
    "tests/io/test_ring.c": LICENCE + '#include <cmocka.h>\n#include "src/base/base.h"\n',
}
FLAGS = {"kernels/avx2": ["-mavx2", "-mfma"], "kernels/avx512": ["-mavx2", "-DKERNEL_EMULATE"]}
# name of the lint, file, text put in place of the file (or "+" and text to add), a word of the finding
PLANTED = [
    ("layers", "src/base/base.c", '+#include "src/model/model.h"\n', "no such file"),
    ("layers", "src/base/base.c", '+#include "kernels/ops.h"\n', "may not include kernels"),
    ("layers", "kernels/ops.h", '+#include "src/base/base.h"\n', "may not include src/base"),
    ("layers", "io/ring.c", '+#include "kernels/ops.h"\n', "may not include kernels"),
    ("layers", "src/model/model.c", '+#include "tests/harness/h.h"\n', "may not include tests"),
    ("layers", "src/model/model.c", "+#include <liburing.h>\n", "in io/*.c"),
    ("layers", "numa/arena.h", LICENCE + "#pragma once\n#include <numaif.h>\n", "in numa/*.c only"),
    ("layers", "tests/io/test_ring.c", "+#include <hwloc.h>\n", "in numa/*.c only"),
    ("layers", "kernels/ops.h", "+#include <immintrin.h>\n", "simd may be included"),
    ("layers", "kernels/avx2/level.c", "+#include <stdlib.h>\n", "is not for kernels"),
    ("layers", "src/tools/main.c", LICENCE + "#include <hwloc.h>\n", "in numa/*.c only"),
    ("layers", "src/client/tenon.h", '+#include "src/base/base.h"\n', "stands on its own"),
    ("layers", "src/base/base.c", "+#include <surprise.h>\n", "no library"),
    ("layers", "src/base/base.c", '+#include "base.h"\n', "path from the root"),
    ("layers", "src/model/model.c", '+#include "src/base/base.c"\n', "not included"),
    ("layers", "src/model/model.c", "+#include WHAT\n", "computed"),
    ("layers", "src/newroom/a.c", LICENCE, "no room"),
    ("layers", "numa/numa.h", LICENCE + "#pragma once\n", "shadow"),
    ("headers", "src/base/base.h", "+struct a { size_t n; FILE *f; };\n", "does not compile alone"),
    ("headers", "kernels/ops.h", "+static inline int f(void) { return undeclared; }\n", "does not compile alone"),
    ("isa", "src/base/base.c", "+#include <immintrin.h>\n__attribute__((target(\"avx2\"))) void leak(float *);\n"
     "void leak(float *x) { _mm256_storeu_ps(x, _mm256_set1_ps(x[0])); }\n", "ymm instructions outside"),
    ("isa", "kernels/avx2/level.c", "+__attribute__((target(\"avx512f\"))) void kernel_ops_init_avx512(float *);\n"
     "void kernel_ops_init_avx512(float *x) { _mm512_storeu_ps(x, _mm512_set1_ps(x[0])); }\n", "zmm instructions"),
    ("isa", "kernels/avx2/level.c", "+void kernel_x(__m256i *);\n"
     "__attribute__((visibility(\"hidden\"), target(\"avx512vnni,avx512vl\"))) void kernel_x(__m256i *x)\n{ x[0] = _mm256_dpbusd_epi32(x[0], x[1], x[2]); }\n", "evex instructions"),
    ("isa", "kernels/avx512/level.c", LICENCE + "#include <immintrin.h>\nvoid f(float *);\n"
     "__attribute__((target(\"avx512f\"))) void f(float *x) { _mm512_storeu_ps(x, _mm512_set1_ps(x[0])); }\n",
     "zmm instructions"),
    ("isa", "kernels/avx2/level.c", "+int second(void);\nint second(void) { return 1; }\n", "exports"),
    ("isa", "kernels/avx2/level.c", "+#include <stdlib.h>\nstatic void *q;\nvoid *kernel_x(void);\n"
     "__attribute__((visibility(\"hidden\"))) void *kernel_x(void) { return q = malloc(4); }\n", "calls malloc"),
    ("isa", "src/engine/e.c", LICENCE + "#include <math.h>\nfloat e(float x);\nfloat e(float x) { return expf(x); }\n",
     "expf() of libm"),
    ("style", "src/base/long.c", LICENCE + "int f(void)\n{\n" + "    f();\n" * 100 + "}\n", "f() has 103 lines"),
    ("style", "src/base/long.c", LICENCE + "int x;\n" * 600, "601 lines"),
    ("style", "src/base/long.h", LICENCE + "#pragma once\n" + "int x;\n" * 150, "152 lines"),
    ("style", "src/base/a.h", LICENCE + "int x;\n", "no #pragma once"),
    ("style", "src/base/a.c", "int x;\n", "no line"),
    ("style", "src/base/base.c", "+\tint x;\n", "a tab"),
    ("style", "src/base/base.c", "+int x; \n", "blanks"),
    ("style", "src/base/base.c", "+int x;", "no newline"),
    ("style", "src/base/base.c", "+/* TO" "DO: later */\n", "finish it"),
    ("style", "src/base/base.c", "+int f(void) { assert(1); }\n", "vanishes"),
    ("style", "program", "\x7fELF\0", "not text"),
    ("style", "README.md", "See /wo" "rk/main/x.\n", "place of one machine"),
    ("style", "src/base/base.c", "+/* " + "x" * 120 + " */\n", "columns"),
    ("style", "src/base/base.c", "+/* \u202e */\n", "invisible"),
]


def write(root, path, text):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as f:
        f.write(text)


def compile_tree(root, cc):
    """Compiles what can be compiled and says how, as a build folder would."""
    entries = []
    for path in sorted(p for p in commands_sources(root)):
        level = FLAGS.get(os.path.dirname(path), [])
        words = cc + level + ["-O2", "-I", root, "-c", path, "-o", path + ".o"]
        subprocess.run(words, cwd=root, capture_output=True, check=False)
        entries.append({"directory": root, "file": path, "output": path + ".o", "arguments": words})
    write(root, "compile_commands.json", json.dumps(entries))
    return commands.load(root, root)


def commands_sources(root):
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(".c"):
                yield os.path.relpath(os.path.join(folder, name), root)


def look(lint, root, cc):
    if lint == "layers":
        with open(os.path.join(HERE, "layers.txt"), encoding="utf-8") as f:
            return layers.run(root, None, f.read())[0]
    if lint == "style":
        return style.run(root, "")[0]
    compiled = compile_tree(root, cc)
    return headers.run(root, compiled)[0] if lint == "headers" else isa.run(compiled)[0]


def main():
    cc = sys.argv[1:] or ["cc"]
    failed = 0
    with tempfile.TemporaryDirectory() as base:
        for lint in ("layers", "headers", "isa", "style"):
            failed += expect(f"{lint} on a clean tree", os.path.join(base, lint), lint, CLEAN, cc, None)
        for number, (lint, path, text, word) in enumerate(PLANTED):
            tree = dict(CLEAN)
            tree[path] = tree[path] + text[1:] if text.startswith("+") else text
            if "tests/harness" in text:
                tree["tests/harness/h.h"] = LICENCE + "#pragma once\n"
            failed += expect(f"{lint} finds: {word}", os.path.join(base, str(number)), lint, tree, cc, word)
        failed += expect_exemptions()
    print(f"{4 + len(PLANTED) + 1 - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


def expect(name, root, lint, tree, cc, word):
    for path, text in tree.items():
        write(root, path, text)
    findings = look(lint, root, cc)
    shutil.rmtree(root)
    good = not findings if word is None else any(word in f for f in findings)
    if not good:
        print(f"FAILED {name}: found {findings}")
    return 0 if good else 1


def expect_exemptions():
    """An exemption needs a reason, lets pass what it names, and is a finding when nothing needs it."""
    table, bad = style.exemptions("file src/a.c a table\nfile src/b.c\ncolumns src/t* wide\n")
    good = len(bad) == 1 and style.exempt(table, "file", "src/a.c") and style.exempt(table, "columns", "src/table.c")
    good = good and not style.exempt(table, "file", "src/table.c")
    if not good:
        print("FAILED exemptions")
    return 0 if good else 1


if __name__ == "__main__":
    main()
