#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/model/unicode_tables.c from the Unicode Character Database (Debian: package unicode-data).

  unicode_generate.py [--ucd DIR] [--output FILE]   writes the tables
  unicode_generate.py [--ucd DIR] --check FILE      compares; 0 fresh, 1 stale, 77 where the database is absent or of
                                                    another version than the tables
"""

import argparse
import os
import re
import sys

CATEGORIES = ("Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co").split()
CODES = 0x110000
INDEXED = 0x20000       # the block index covers the codes below; few texts leave them

NOTICE = """\
 * The data below is derived from the Unicode Character Database, which comes under this notice:
 *
 * Copyright (c) 1991-2022 Unicode, Inc. All rights reserved.
 * Distributed under the Terms of Use in http://www.unicode.org/copyright.html.
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of the Unicode data files and any
 * associated documentation (the "Data Files") or Unicode software and any associated documentation (the "Software")
 * to deal in the Data Files or Software without restriction, including without limitation the rights to use, copy,
 * modify, merge, publish, distribute, and/or sell copies of the Data Files or Software, and to permit persons to whom
 * the Data Files or Software are furnished to do so, provided that (a) the above copyright notice(s) and this
 * permission notice appear with all copies of the Data Files or Software, (b) both the above copyright notice(s) and
 * this permission notice appear in associated documentation, and (c) there is clear notice in each modified Data File
 * or in the Software as well as in the documentation associated with the Data File(s) or Software that the data or
 * software has been modified.
 *
 * THE DATA FILES AND SOFTWARE ARE PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
 * NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT OF THIRD
 * PARTY RIGHTS. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR HOLDERS INCLUDED IN THIS NOTICE BE LIABLE FOR ANY CLAIM, OR
 * ANY SPECIAL INDIRECT OR CONSEQUENTIAL DAMAGES, OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR
 * PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH
 * THE USE OR PERFORMANCE OF THE DATA FILES OR SOFTWARE.
 *
 * Except as contained in this notice, the name of a copyright holder shall not be used in advertising or otherwise to
 * promote the sale, use or other dealings in these Data Files or Software without prior written authorization of the
 * copyright holder.
"""


def read_version(ucd):
    with open(os.path.join(ucd, "PropList.txt"), encoding="utf-8") as f:
        return re.match(r"# PropList-(\S+)\.txt", f.readline()).group(1)


def read_characters(ucd):
    """Yields (first, last, fields); a <…, First> line and its <…, Last> line become one."""
    first = None
    with open(os.path.join(ucd, "UnicodeData.txt"), encoding="utf-8") as f:
        for line in f:
            fields = line.rstrip("\n").split(";")
            code = int(fields[0], 16)
            if fields[1].endswith("First>"):
                first = code
                continue
            yield (first if first is not None else code), code, fields
            first = None


def read_spaces(ucd):
    spaces = set()
    with open(os.path.join(ucd, "PropList.txt"), encoding="utf-8") as f:
        for line in f:
            match = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*; White_Space\b", line)
            if match:
                first = int(match.group(1), 16)
                spaces.update(range(first, int(match.group(2) or match.group(1), 16) + 1))
    return spaces


def class_ranges(ucd, characters):
    spaces = read_spaces(ucd)
    classes = bytearray(CODES)
    for first, last, fields in characters:
        classes[first:last + 1] = bytes([CATEGORIES.index(fields[2])]) * (last + 1 - first)
    for code in spaces:
        classes[code] |= 1 << 5
    starts = [code for code in range(CODES) if code == 0 or classes[code] != classes[code - 1]]
    index, at = [], 0
    for block in range(0, INDEXED + 1, 256):
        while at + 1 < len(starts) and starts[at + 1] <= block:
            at += 1
        index.append(at)
    ascii_bits = [1 << (classes[code] & 31) | (classes[code] >> 5) << 30 for code in range(128)]
    return [start << 6 | classes[start] for start in starts], index, ascii_bits


def lower_runs(characters):
    """Simple lowercase mappings as (first, last, step, delta)."""
    pairs = sorted((first, int(fields[13], 16)) for first, _, fields in characters if fields[13])
    runs = []
    for code, lower in pairs:
        if runs:
            first, last, step, delta = runs[-1]
            gap = code - last
            if delta == lower - code and gap in (1, 2) and (first == last or gap == step):
                runs[-1] = (first, code, gap, delta)
                continue
        runs.append((code, code, 1, lower - code))
    return runs


def decompositions(characters):
    """Canonical mappings as the database has them, one step each: (code, first, second or 0)."""
    steps = []
    for first, _, fields in characters:
        if fields[5] and not fields[5].startswith("<"):
            parts = [int(part, 16) for part in fields[5].split()]
            steps.append((first, parts[0], parts[1] if len(parts) > 1 else 0))
    table = {code: (a, b) for code, a, b in steps}
    for code, a, _ in steps:
        depth = 1
        while a in table:
            a = table[a][0]
            depth += 1
        assert depth <= 3, "UNICODE_DECOMPOSED_MAX is too small for %X" % code
    return sorted(steps)


def rows(values, width=118):
    line = "   "
    for value in values:
        if len(line) + len(value) + 2 > width:
            yield line
            line = "   "
        line += " " + value + ","
    yield line


def render(ucd):
    characters = list(read_characters(ucd))
    ranges, index, ascii_bits = class_ranges(ucd, characters)
    out = ["/* SPDX-License-Identifier: Apache-2.0 AND Unicode-DFS-2016 */", "/*",
           " * Generated by src/model/unicode_generate.py from Unicode " + read_version(ucd) + "; do not edit.", " *",
           NOTICE.rstrip("\n"), " */", "", '#include "src/model/unicode_tables.h"', "",
           "const uint32_t unicode_ranges[] = {", *rows("0x%x" % r for r in ranges), "};",
           "const size_t unicode_range_count = sizeof(unicode_ranges) / sizeof(unicode_ranges[0]);", "",
           "const uint32_t unicode_ascii[128] = {", *rows("0x%x" % bits for bits in ascii_bits), "};", "",
           "const uint16_t unicode_index[UNICODE_INDEXED / 256 + 1] = {", *rows("%d" % i for i in index), "};", "",
           "const struct unicode_lower_run unicode_lower_runs[] = {",
           *rows("{0x%x, 0x%x, %d, %d}" % run for run in lower_runs(characters)), "};",
           "const size_t unicode_lower_run_count = sizeof(unicode_lower_runs) / sizeof(unicode_lower_runs[0]);", "",
           "const struct unicode_step unicode_steps[] = {",
           *rows("{0x%x, 0x%x, 0x%x}" % step for step in decompositions(characters)), "};",
           "const size_t unicode_step_count = sizeof(unicode_steps) / sizeof(unicode_steps[0]);"]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ucd", default="/usr/share/unicode")
    parser.add_argument("--output", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "unicode_tables.c"))
    parser.add_argument("--check")
    arguments = parser.parse_args()
    if arguments.check is None:
        with open(arguments.output, "w", encoding="utf-8") as f:
            f.write(render(arguments.ucd))
        return 0
    if not os.path.exists(os.path.join(arguments.ucd, "UnicodeData.txt")):
        print("skipped: no Unicode Character Database in %s (package unicode-data)" % arguments.ucd)
        return 77
    with open(arguments.check, encoding="utf-8") as f:
        text = f.read()
    version = read_version(arguments.ucd)
    if "from Unicode %s;" % version not in text:
        print("skipped: the tables are of another Unicode version than %s" % version)
        return 77
    if text != render(arguments.ucd):
        print("%s is stale: run src/model/unicode_generate.py" % arguments.check)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
