#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts of a meson test run: a table by suite, what was skipped and why, what failed, and the closing line.

  summary.py [LABEL=]TESTLOG.json...      as `meson test` writes it to build/meson-logs/testlog.json

Cases are counted where a program tells them: cmocka's closing lines, or a line `N passed, N failed, N skipped`.
Any other program is one case.  A program that ends badly is at least one failure.
"""
import collections
import json
import re
import sys

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
CMOCKA = {k: re.compile(rf"^\[  {k} +\] (\d+) test\(s\)", re.M) for k in ("PASSED", "FAILED", "SKIPPED")}
SKIP_LINE = re.compile(r"^(?:\[  SKIPPED \] (?!\d+ test)(\S.*)|SKIP(?:PED)?:? +(\S.*)|skipped?:? +(\S.*))$", re.M)
BAD = ("FAIL", "TIMEOUT", "ERROR", "INTERRUPT", "UNEXPECTEDPASS")


def counts(test):
    text = f"{test.get('stdout') or ''}\n{test.get('stderr') or ''}"
    closing = CLOSING.findall(text)
    if closing:
        passed, failed, skipped = (sum(int(row[i] or 0) for row in closing) for i in range(3))
    else:
        passed, failed, skipped = (sum(map(int, CMOCKA[k].findall(text))) for k in ("PASSED", "FAILED", "SKIPPED"))
    if test["result"] in BAD:
        failed = max(failed, 1)
    elif test["result"] == "SKIP":
        passed, skipped = 0, max(skipped, 1)
    elif passed + failed + skipped == 0:
        passed = 1
    reasons = list(dict.fromkeys(a or b or c for a, b, c in SKIP_LINE.findall(text)))
    return passed, failed, skipped, reasons


def shorten(reasons):
    """Case names by reason: the same reason is told once."""
    by_reason = {}
    for reason in reasons:
        case, mark, why = reason.partition(": ")
        by_reason.setdefault(why if mark else "", []).append(case)
    return "; ".join(f"{', '.join(cases)}{': ' + why if why else ''}" for why, cases in by_reason.items()) or "unsaid why"


def read(paths):
    """(label, test) of every test."""
    for word in paths:
        label, mark, path = word.partition("=")
        with open(path if mark else word, encoding="utf-8") as f:
            for line in f:
                if line.strip():
                    yield label + " " if mark else "", json.loads(line)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    table, skips, bad = collections.defaultdict(lambda: [0, 0, 0, 0.0]), [], []
    for label, test in read(sys.argv[1:]):
        name = label + test["name"].split(" / ")[-1]
        suite = name.split("/")[0]
        passed, failed, skipped, reasons = counts(test)
        row = table[suite]
        for i, n in enumerate((passed, failed, skipped, test.get("duration") or 0.0)):
            row[i] += n
        if skipped:
            skips.append((name, skipped, reasons))
        if failed:
            bad.append((name, test["result"]))
    print(f"\n{'suite':16} {'passed':>8} {'failed':>8} {'skipped':>8} {'seconds':>9}")
    for suite, row in sorted(table.items()):
        print(f"{suite:16} {row[0]:8} {row[1]:8} {row[2]:8} {row[3]:9.1f}")
    for name, n, reasons in skips:
        print(f"skipped {n} of {name}: {shorten(reasons)}")
    for name, result in bad:
        print(f"failed: {name} ({result})")
    passed, failed, skipped = (sum(row[i] for row in table.values()) for i in range(3))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
