#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arrows point down: every #include of the tree against layers.txt."""
import fnmatch
import os
import re
import sys

import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]+(?:<([^>\n]+)>|"([^"\n]+)"|(\S.*))', re.M)
SUFFIXES = (".c", ".h", ".inc", ".def", ".S")
# A header of ours by one of these names would shadow a system's.
TAKEN = {"numa.h", "numaif.h", "hwloc.h", "liburing.h", "seccomp.h", "xxhash.h", "sd-daemon.h", "cmocka.h"}


class Layers:
    def __init__(self, text):
        self.libraries, self.rooms, self.single, self.only = {}, {}, {}, {}
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            kind, name, mark, rest = words[0], words[1], words[2], words[3:]
            if (kind, mark) == ("library", "="):
                self.libraries.setdefault(name, []).extend(rest)
            elif (kind, mark) == ("room", ":"):
                self.rooms[name] = set(rest)
            elif (kind, mark) == ("file", ":"):
                self.single[name] = set(rest)
            elif (kind, mark) == ("only", "in"):
                self.only[name] = rest
            else:
                sys.exit(f"layers.txt:{number}: cannot read {line!r}")
        self.expand_words()

    def expand_words(self):
        house = {r for r in self.rooms if r not in ("tests", "bench")}
        for allowed in list(self.rooms.values()) + list(self.single.values()):
            if "any" in allowed:
                allowed |= {"house"} | set(self.libraries)
            if "house" in allowed:
                allowed |= house

    def room_of(self, path):
        best = None
        for room in self.rooms:
            if path.startswith(room + "/") and (best is None or len(room) > len(best)):
                best = room
        return best

    def libraries_of(self, header):
        return [n for n, patterns in self.libraries.items() if any(match(header, p) for p in patterns)]


def match(path, pattern):
    """Shell pattern whose * does not cross a slash."""
    a, b = path.split("/"), pattern.split("/")
    if pattern.startswith("tests/*.") and a[0] == "tests":     # tests mirror the tree at any depth
        return fnmatch.fnmatchcase(a[-1], b[-1])
    return len(a) == len(b) and all(fnmatch.fnmatchcase(x, y) for x, y in zip(a, b))


def check_system(layers, path, allowed, header):
    owners = layers.libraries_of(header)
    if not owners:
        yield f"<{header}> belongs to no library of layers.txt"
        return
    for owner in owners:
        places = layers.only.get(owner)
        if places and not any(match(path, p) for p in places):
            yield f"<{header}>: {owner} may be included in {', '.join(places)} only"
            return
    if not allowed & set(owners):
        yield f"<{header}>: {' or '.join(owners)} is not for {layers.room_of(path)}"


def check_own(layers, roots, path, allowed, header):
    if header.endswith(".c"):
        yield f'"{header}": a .c file is linked, not included'
        return
    if ".." in header.split("/") or header.startswith("/"):
        yield f'"{header}": include by the path from the root'
        return
    if not any(os.path.exists(os.path.join(r, header)) for r in roots):
        yield f'"{header}": no such file under the root; include by the path from the root'
        return
    target = layers.room_of(header)
    if target is None:
        yield f'"{header}" lies in no room of layers.txt'
    elif target != layers.room_of(path) and target not in allowed and header not in allowed:
        yield f'"{header}": {layers.room_of(path)} may not include {target}'


def check_file(layers, roots, path, text):
    if layers.room_of(path) is None:
        yield f"{path}: lies in no room of layers.txt"
        return
    if os.path.basename(path) in TAKEN or path.startswith("systemd/"):
        yield f"{path}: this name would shadow a system header"
    single = layers.single.get(path)
    allowed = layers.rooms[layers.room_of(path)] if single is None else single
    for found in INCLUDE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        system, own, computed = found.groups()
        if computed:
            problems = ["an include that is computed cannot be checked"]
        elif system:
            problems = check_system(layers, path, allowed, system)
        elif single is not None and own not in single:
            problems = [f'"{own}": this file stands on its own']
        else:
            problems = check_own(layers, roots, path, allowed, own)
        for problem in problems:
            yield f"{path}:{line}: {problem}"


def run(root, build, table):
    layers = Layers(table)
    findings, count = [], 0
    for path in tree.files(root, SUFFIXES):
        text = tree.read(root, path)
        if text is None or "/corpus/" in path:
            continue
        count += 1
        findings += check_file(layers, [root] + ([build] if build else []), path, text)
    return findings, count


def main():
    a = tree.arguments(__doc__).parse_args()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.txt"), encoding="utf-8") as f:
        findings, count = run(a.root, a.build, f.read())
    tree.finish("layers", findings, count)


if __name__ == "__main__":
    main()
