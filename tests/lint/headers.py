#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone, with the flags of its own folder."""
import concurrent.futures
import os
import subprocess

import commands
import tree

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Werror", "-fsyntax-only"]


def command_for(compiled, header):
    """A command of the header's own folder, else of its parent's, else any: they differ in -m flags only."""
    folder = os.path.dirname(header)
    while True:
        for c in compiled:
            if os.path.dirname(c.source) == folder and "-DKERNEL_EMULATE" not in c.words:
                return c
        if not folder:
            return compiled[0]
        folder = os.path.dirname(folder)


def check(root, compiled, header):
    c = command_for(compiled, header)
    text = f'#include "{header}"\n#include "{header}"\nextern int header_alone;\n'
    done = subprocess.run(c.compiler() + c.flags() + WARNINGS + ["-I", os.path.abspath(root), "-x", "c", "-"],
                          input=text, cwd=c.folder, text=True, capture_output=True)
    if done.returncode == 0:
        return []
    first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
    return [f"{header}: does not compile alone: {first}"]


def run(root, compiled):
    headers = [h for h in tree.files(root, (".h",)) if "/corpus/" not in h]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = list(pool.map(lambda h: check(root, compiled, h), headers))
    return [line for lines in found for line in lines], len(headers)


def main():
    a = tree.arguments(__doc__).parse_args()
    tree.finish("headers", *run(a.root, commands.load(a.root, a.build)))


if __name__ == "__main__":
    main()
