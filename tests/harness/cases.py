# SPDX-License-Identifier: Apache-2.0
"""What test programs in Python share: cases with names, skips that say why, the built programs, the models.

A program collects cases with @case and ends with main(): it prints one line per case and the closing line
`N passed, N failed, N skipped`, and exits with 0, 1, or 77 when everything was skipped.  Arguments pick cases by name.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TENON_BUILD", os.path.join(TOP, "build"))
TENON = os.path.join(BUILD, "src", "tools", "tenon")
TENOND = os.path.join(BUILD, "src", "daemon", "tenond")
LONG = os.environ.get("TENON_TEST_LONG", "") not in ("", "0")
SLOW = float(os.environ.get("TENON_TEST_SLOW", "1"))      # how much longer all may take: sanitizers, emulators
WHOLE = LONG or os.environ.get("TENON_TEST_WHOLE", "") not in ("", "0")
MODEL_FILES = {
    "smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf",
    "gemma": "gemma-3-270m-q4_k_m.gguf",
    "qwen": "Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf",
}
GPL = "/usr/share/common-licenses/GPL-3"

_cases = []


class Skip(Exception):
    """Raised by a case that lacks something: counted and printed with its reason."""


def case(function):
    _cases.append(function)
    return function


def cases_for(values):
    """Decorator: one case per value, named function(value)."""
    def wrap(function):
        for value in values:
            def one(value=value):
                return function(value)
            one.__name__ = f"{function.__name__}({value})"
            _cases.append(one)
        return function
    return wrap


def within(seconds):
    """A bound in seconds, as far as this build is slower than others."""
    return seconds * SLOW


def main():
    chosen = [c for c in _cases if not sys.argv[1:] or any(word in c.__name__ for word in sys.argv[1:])]
    passed = failed = skipped = 0
    for one in chosen:
        begun = time.monotonic()
        try:
            one()
            passed += 1
            print(f"ok {one.__name__} ({time.monotonic() - begun:.1f} s)", flush=True)
        except Skip as reason:
            skipped += 1
            print(f"SKIP {one.__name__}: {reason}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED {one.__name__} ({time.monotonic() - begun:.1f} s)\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not chosen else 0 if passed else 77)


def need_numpy():
    """Goes on under a Python that has numpy and gguf, which `./quickstart test` names, or skips the whole program."""
    try:
        import gguf     # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        import numpy    # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        return
    except ImportError as missing:
        other = os.environ.get("TENON_TEST_PYTHON")
        if other and os.path.exists(other) and not os.environ.get("TENON_TEST_REEXEC"):
            os.environ["TENON_TEST_REEXEC"] = "1"
            sys.stdout.flush()
            os.execv(other, [other] + sys.argv)
        print(f"SKIP {os.path.basename(sys.argv[0])}: {missing} (./quickstart test brings numpy and gguf)")
        sys.exit(77)


def need_program(path):
    if not os.access(path, os.X_OK):
        raise Failed(f"{path} is not built")
    return path


def need_whole_suite():
    """For proofs that take minutes: they run in `./quickstart test`, not in every `meson test` of a working day."""
    if not WHOLE:
        raise Skip("takes minutes: ./quickstart test runs it, or TENON_TEST_WHOLE=1")


def model(name):
    """Path of a real model, from TENON_TEST_MODELS."""
    folder = os.environ.get("TENON_TEST_MODELS")
    if not folder:
        raise Skip("TENON_TEST_MODELS names no folder of models")
    path = os.path.join(folder, MODEL_FILES[name])
    if not os.path.isfile(path):
        raise Skip(f"no {MODEL_FILES[name]} in {folder}")
    return path


def folder(variable):
    """A folder of reference values that an environment variable names."""
    path = os.environ.get(variable)
    if not path or not os.path.isdir(path):
        raise Skip(f"{variable} names no folder")
    return path


def load_json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


class Failed(Exception):
    """A program ended otherwise than it should."""


def run(*words, expect=0, timeout=120, stdin=b"", environment=None, before=None):
    """(stdout, stderr) of a program as bytes; any exit code but `expect` (None: any) is a failure.

    @timeout: seconds on an ordinary machine; TENON_TEST_SLOW stretches them.
    """
    done = subprocess.run([str(w) for w in words], input=stdin, capture_output=True, timeout=timeout * SLOW,
                          check=False, env={**os.environ, **(environment or {})}, preexec_fn=before)
    if expect is not None and done.returncode != expect:
        raise Failed(f"{' '.join(map(str, words))[:400]}\nended with {done.returncode}, not {expect}\n"
                     f"{done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout, done.stderr


def tenon(*words, **options):
    return run(need_program(TENON), *words, **options)


def temporary(**options):
    """A temporary folder on a real disk: /tmp may be memory, where O_DIRECT does not work."""
    base = os.environ.get("TENON_TEST_TMP") or os.path.join(BUILD, "tests")
    os.makedirs(base, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=base, **options)


def generated(here, architecture, *settings, seed=1):
    """Path of a generated model of random weights in a folder: two layers that hold every tensor type."""
    path = os.path.join(here, f"{architecture}-{seed}.gguf")
    run(need_program(os.path.join(BUILD, "tests", "harness", "random_model")), path, architecture, seed, *settings)
    return path


def tokenize(model_path, text, *options):
    """Ids of a text (str or bytes) by `tenon tokenize`."""
    with temporary() as here:
        path = os.path.join(here, "text")
        with open(path, "wb") as f:
            f.write(text.encode() if isinstance(text, str) else text)
        out, _ = tenon("tokenize", "-m", model_path, "--ids", *options, "-f", path)
    return json.loads(out)
