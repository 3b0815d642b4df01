#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes and manners: length of functions and files, licence line, blanks, words that do not belong."""
import os
import re

import tree

FUNCTION_LINES, SOURCE_LINES, HEADER_LINES, COLUMNS = 100, 600, 150, 120
WITHOUT_LICENCE = (".md", ".json", ".txt", ".gguf", ".out", ".inp", ".csv", ".hex", ".npy")
TEXT_SUFFIXES = (".c", ".h", ".inc", ".def", ".py", ".sh", ".build", ".md", ".json", ".txt", ".in", ".conf")
TEXT_NAMES = ("quickstart", "run")
SPDX = "SPDX-License-" + "Identifier: Apache-2.0"
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
PLACES = re.compile(r"(?<![\w.$}])/(wo" r"rk|ro" r"ot|ho" r"me/\w+)/|pypi\.o" r"rg|pythonhosted\.o" r"rg")
ASSERT = re.compile(r"(?<![\w])assert\s*\(")
WITHOUT_ASSERT = ("src/", "numa/", "io/", "kernels/")
INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def exemptions(text):
    """`rule path reason`: rule is a name below, path may end in * ; a reason is asked for."""
    found, bad = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split(None, 2)
        if words and len(words) < 3:
            bad.append(f"exempt.txt:{number}: an exemption needs a rule, a path and a reason")
        elif words:
            found[(words[0], words[1])] = False
    return found, bad


def exempt(table, rule, path):
    for key in table:
        if key[0] == rule and (key[1] == path or (key[1].endswith("*") and path.startswith(key[1][:-1]))):
            table[key] = True
            return True
    return False


def functions(lines):
    """(name, first line, length) of C functions in our layout: the opening brace stands alone in column 0."""
    for i, line in enumerate(lines):
        if line != "{":
            continue
        first = i
        while first > 0 and lines[first - 1].strip() and not lines[first - 1].startswith(("}", "#", "/*", " */")):
            first -= 1
        end = next((j for j in range(i, len(lines)) if lines[j].startswith("}")), len(lines) - 1)
        name = re.search(r"(\w+)\s*\(", " ".join(lines[first:i]))
        yield name.group(1) if name else "?", first + 1, end - first + 1


def check_c(path, lines):
    limit = HEADER_LINES if path.endswith(".h") else SOURCE_LINES
    if len(lines) > limit:
        yield "file", f"{path}: {len(lines)} lines, at most {limit}"
    for name, first, length in functions(lines):
        if length > FUNCTION_LINES:
            yield "function", f"{path}:{first}: {name}() has {length} lines, at most {FUNCTION_LINES}"
    for i, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield "columns", f"{path}:{i}: {len(line)} columns, at most {COLUMNS}"
        if path.startswith(WITHOUT_ASSERT) and ASSERT.search(line):
            yield "assert", f"{path}:{i}: assert() vanishes with NDEBUG: return an error, or check()"
    if path.endswith(".h") and "#pragma once" not in lines:
        yield "once", f"{path}: no #pragma once"


def check_text(path, lines):
    if not path.endswith(WITHOUT_LICENCE) and not any(SPDX in line for line in lines[:3]):
        yield "licence", f"{path}: no line {SPDX!r} among the first three"
    for i, line in enumerate(lines, 1):
        if "\t" in line:
            yield "tab", f"{path}:{i}: a tab"
        if line != line.rstrip():
            yield "blank", f"{path}:{i}: blanks at the end of a line"
        if UNFINISHED.search(line):
            yield "word", f"{path}:{i}: {UNFINISHED.search(line).group(0)}: finish it or write it into an issue"
        if PLACES.search(line):
            yield "place", f"{path}:{i}: {PLACES.search(line).group(0)} is a place of one machine"
        if INVISIBLE.search(line):
            yield "invisible", f"{path}:{i}: an invisible character"


def check_file(path, text):
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    elif text:
        yield "end", f"{path}: no newline at the end"
    yield from check_text(path, lines)
    if path.endswith((".c", ".h")):
        yield from check_c(path, lines)


def run(root, table_text):
    table, findings = exemptions(table_text)
    count = 0
    for path in tree.files(root):
        if "/corpus/" in path:
            continue
        text = tree.read(root, path)
        if text is None:
            findings.append(f"{path}: not text: what a program makes does not belong here")
        named = os.path.basename(path) in TEXT_NAMES or path.endswith(TEXT_SUFFIXES)
        if text is None or not named:
            continue
        count += 1
        findings += [message for rule, message in check_file(path, text) if not exempt(table, rule, path)]
    findings += [f"exempt.txt: {rule} {path}: no longer needed" for (rule, path), used in table.items() if not used]
    return findings, count


def main():
    a = tree.arguments(__doc__).parse_args()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "exempt.txt"), encoding="utf-8") as f:
        tree.finish("style", *run(a.root, f.read()))


if __name__ == "__main__":
    main()
