# SPDX-License-Identifier: Apache-2.0
"""What the lints share: which files are ours, and how a finding is reported."""
import argparse
import os
import sys

SKIPPED_FOLDERS = {"__pycache__", "node_modules", "subprojects"}


def files(root, suffixes=None):
    """Paths relative to root of every file of the project: no build folders, nothing of git or an editor."""
    for folder, folders, names in os.walk(root):
        here = os.path.relpath(folder, root)
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and is_ours(folder, f))
        for name in sorted(names):
            path = name if here == "." else os.path.join(here, name)
            if suffixes is None or name.endswith(tuple(suffixes)):
                yield path


def is_ours(parent, name):
    if name.startswith(".") and name != ".ci":
        return False
    if name.startswith("build") and os.path.exists(os.path.join(parent, name, "build.ninja")):
        return False
    return not os.path.exists(os.path.join(parent, name, "meson-private"))


def read(root, path):
    """The text of a file, or None for one that is not text."""
    with open(os.path.join(root, path), "rb") as f:
        data = f.read()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def arguments(doc):
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--root", required=True, help="top of the source tree")
    p.add_argument("--build", help="build folder")
    return p


def finish(what, findings, looked_at):
    """Prints the findings and ends the program.  Nothing looked at is a failure: a lint must not pass by accident."""
    for finding in findings:
        print(finding)
    if not looked_at:
        print(f"{what}: nothing to look at")
    print(f"{what}: {looked_at} looked at, {len(findings)} findings")
    sys.exit(1 if findings or not looked_at else 0)
