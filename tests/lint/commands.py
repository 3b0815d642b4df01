# SPDX-License-Identifier: Apache-2.0
"""compile_commands.json: how each source of a build is compiled, and into which object."""
import json
import os
import shlex


class Command:
    def __init__(self, root, entry):
        self.folder = entry["directory"]
        self.source = os.path.relpath(os.path.realpath(os.path.join(self.folder, entry["file"])), os.path.realpath(root))
        self.words = entry["arguments"] if "arguments" in entry else shlex.split(entry["command"])
        output = entry.get("output") or self.words[self.words.index("-o") + 1]
        self.object = os.path.join(self.folder, output)

    def compiler(self):
        """The compiler itself, without a cache in front of it."""
        return [w for w in self.words[:2] if not w.startswith("-") and "ccache" not in w][:1]

    def flags(self):
        """What changes the meaning of a header: paths, macros, the standard, the machine."""
        kept, words = [], iter(self.words[1:])
        for word in words:
            if word in ("-I", "-D", "-U", "-isystem", "-include"):
                kept += [word, next(words, "")]
            elif word.startswith(("-I", "-D", "-U", "-m", "-std=", "-isystem")):
                kept.append(word)
        return kept


def load(root, build):
    """Commands of our own C sources, generated ones excluded."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        every = [Command(root, entry) for entry in json.load(f)]
    return [c for c in every if c.source.endswith(".c")]
