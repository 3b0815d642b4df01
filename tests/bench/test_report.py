#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report of the bench: its page from made-up numbers, what it draws and escapes, and what the kernel bench says.
No time is asserted."""
import contextlib
import copy
import html.parser
import io
import json
import math
import os
import re
import stat
import sys
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness"), os.path.join(HERE, "..", "..", "bench")]
import host
import page
import plot
import report
from cases import BUILD, case, cases_for, main, need_program, run, temporary

EVIL = 'evil"\'><script src="https://example.net/x.js"></script><img src=x onerror=alert(1)>&amp;\x1b[31m'
VOID = {"meta", "br", "img", "link", "input"}


def bench(nodes=1, **more):
    out = {"prefill": {"tokens": 32, "tokens_per_s": 300.0},
           "decode": {"tokens": 8, "batch": 1, "tokens_per_s": 50.0, "step_seconds": [0.019, 0.02, 0.03],
                      "bytes_per_step": 1e8, "bytes_per_s": 5e9, "bandwidth_fraction": 0.5},
           "prompts": [], "batches": [], "contexts": [], "read_bandwidth_bytes_per_s": 1e10, "load_bytes_per_s": 2e9,
           "load_seconds": 0.5, "level": "avx2", "activations": "int8", "threads": 2, "nodes": nodes, "pinned": True,
           "links": [{"reading_node": a, "memory_node": b, "bytes_per_s": 1e10 if a == b else 4e9}
                     for a in range(nodes) for b in range(nodes)],
           "model": {"name": "a model", "architecture": "llama", "types": "Q4_0 1", "weight_bytes": 10 ** 8,
                     "kv_bytes": 10 ** 6},
           "phases": {"few_tokens": {"steps": 4, "attend": [0.001, 0.0005], "head": [0.0022, 0.0003]},
                      "many_tokens": {"steps": 0}},
           "pages": {"1g_bytes": 0, "2m_bytes": 10 ** 8, "other_bytes": 0}, "note": ""}
    out.update(more)
    return out


def point(key, n, seconds, **more):
    return {key: n, "tokens_per_s": 1 / seconds, "seconds": [seconds * 0.9, seconds, seconds * 1.3], **more}


def row(level, kernel="matmul", activations="int8", tokens=1, source="l2", head_dim=0, macs=1e6):
    return {"kernel": kernel, "level": level, "name": f"{kernel}__{level}", "type": "" if head_dim else "Q4_0",
            "activations": activations, "tokens": tokens, "head_dim": head_dim, "from": source, "bytes": 1e6 / tokens,
            "macs": macs, "seconds": [1e-5, 2e-5, 3e-5], "bytes_per_s": 1e11 / tokens, "macs_per_s": macs * 1e5,
            "of_roof": 0.5}


def kernels():
    levels = [{"level": name, "int8_macs_per_s": peak, "int8_macs_per_cycle": peak / 3e9, "f32_macs_per_s": peak / 4,
               "read_bytes_per_s": {"l1": 3e11, "l2": 1e11, "memory": 1e10}}
              for name, peak in (("ref", 2e10), ("avx2", 1.2e11), ("avx512", 3.4e11))]
    rows = [row(m["level"], tokens=n, source=s, activations=x, macs=n * m["int8_macs_per_s"] / 1e6)
            for m in levels for n in (1, 12, 64) for s in ("l2", "memory") for x in ("int8", "int16", "f32")]
    rows += [row(m["level"], "attend", "f32", 4, head_dim=64) for m in levels]
    rows += [row(m["level"], "exp", "", 0 or 1, "l1", macs=0) for m in levels]
    return {"clock_hz": 3e9, "memory_bytes": 1e9, "levels": levels, "kernels": rows}


def canned():
    sweeps = {"one": bench(nodes=2, prompts=[point("tokens", n, 0.01 + n / 500) for n in (1, 16, 64, 512, 4096)]),
              "batches": bench(batches=[point("batch", n, 0.02 + n / 900) for n in (1, 2, 4, 8, 16, 32, 64)]),
              "contexts": bench(contexts=[point("context", n, 0.02 + n / 9e5, added_bytes=n * 1e4, added_seconds=n / 9e5,
                                                added_bytes_seconds=n / 1e6) for n in (0, 1024, 8192, 32768)])}
    runs = [bench(), bench(), bench()]
    runs[1]["decode"]["tokens_per_s"] = 61.0
    compare = {"levels": {"avx2": runs, "avx512": runs}, "pages": {"4 KiB": runs, "transparent": runs, "2 MiB": runs},
               "pinning": {"pinned": runs, "not pinned": runs}, "placement": {"shard": runs, "local": [], "mirror": runs}}
    return {"tenon": "tenon 0", "quick": False, "model_file": "model.gguf", "date": "2026-01-01T00:00:00+00:00",
            "host": {"CPU": "A CPU", "nodes": "node 0: CPUs 0-1"}, "kernels": kernels(), "sweeps": sweeps,
            "compare": compare, "commands": ["tenon bench -m model.gguf"], "skipped": ["pages of 1 GiB: none is free"]}


class Reader(html.parser.HTMLParser):
    """Elements that close in the order in which they opened, and all their attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.said = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.said.append(data)


def check_page(text):
    """Well-formed, alone, and every number of every plot finite and inside it."""
    read = Reader(text)
    assert not {"script", "img", "link", "iframe", "object"} & set(read.tags), set(read.tags)
    assert not [a for a in read.attributes if a[0] in ("src", "href", "xlink:href") or a[0].startswith("on")]
    outside = [a for a in read.attributes if re.search(r"https?:|url\(", a[1] or "")]
    assert not [a for a in outside if a[0] not in ("aria-label",)], outside
    assert "url(" not in text and "@import" not in text
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        top = xml.fromstring(svg)
        _, _, width, height = map(float, top.get("viewBox").split())
        for element in top.iter():
            for name, value in element.items():
                assert "nan" not in value and "inf" not in value, (name, value)
                if name in ("x", "cx", "y", "cy"):
                    assert -1 <= float(value) <= (width if name.endswith("x") else height) + 1, (name, value)
    return read


@case
def page_is_whole_and_alone():
    text = page.page(canned())
    assert "http" not in text, re.findall(r".{30}http.{30}", text)
    read = check_page(text)
    assert read.tags.count("figure") == 3 + 2 + 2 + 9, read.tags.count("figure")   # sweeps, rooflines, types, comparisons
    said = " ".join(read.said)
    for words in ("A CPU", "model.gguf", "tenon bench -m model.gguf", "Roofline of avx512", "pages of 1 GiB",
                  "memory of node 1", "Latency of a token", "not pinned", "matmul__avx2"):
        assert words in said, words
    assert "Roofline of ref" not in said
    at = read.said.index("few tokens (decode)")     # of 4 ms: 1 + 0.5 and 2.2 + 0.3
    assert read.said[at:at + 5] == ["few tokens (decode)", "1.000", "25.0 %", "55.0 %", "20.0 %"], read.said[at:at + 5]
    assert "many tokens (prefill)" not in said, "no such step was taken"
    assert "prefers-color-scheme:dark" in text


def strings(value, put):
    """Every string of a report replaced, keys that are names too."""
    if isinstance(value, str):
        return put(value)
    if isinstance(value, list):
        return [strings(v, put) for v in value]
    if isinstance(value, dict):
        return {k: strings(v, put) for k, v in value.items()}
    return value


@case
def whatever_a_file_says_stays_text():
    evil = canned()
    evil["host"] = {EVIL: EVIL}
    for sweep in evil["sweeps"].values():
        sweep["model"].update(name=EVIL, architecture=EVIL, types=EVIL)
        sweep.update(level=EVIL, activations=EVIL)
    for key in ("tenon", "date", "model_file"):
        evil[key] = EVIL
    evil["commands"] = evil["skipped"] = [EVIL]
    for sweep in evil["sweeps"].values():
        sweep["phases"] = {"few_tokens": {"steps": 1, EVIL: [1.0, 1.0]}}
    evil["compare"] = {EVIL: {EVIL: [bench()]}}
    for r in evil["kernels"]["kernels"]:
        r.update(type=EVIL, name=EVIL)
    text = page.page(evil)
    assert "<script" not in text and "<img" not in text
    read = check_page(text)
    assert EVIL.replace("\x1b", "\ufffd") in "".join(read.said), "the words themselves are shown"


@cases_for(["kernels", "sweeps", "compare", "one point", "no time", "one round"])
def what_is_missing_is_left_out(what):
    r = copy.deepcopy(canned())
    if what == "one point":
        for s in r["sweeps"].values():
            for key in ("prompts", "batches", "contexts"):
                s[key] = s[key][:1]
    elif what == "no time":
        for p in r["sweeps"]["batches"]["batches"]:
            p["seconds"] = [0, 0, 0]
    elif what == "one round":
        r["compare"] = {k: {n: runs[:1] for n, runs in v.items()} for k, v in r["compare"].items()}
    else:
        r[what] = {} if what != "kernels" else None
    check_page(page.page(r))


@case
def axes():
    for log in (0, 2, 10):
        for values in ([1], [5, 5], [0.001, 1e9], [3, 7, 1000], [1e-9, 2e-9]):
            axis = plot.Axis(values, 0, 100, log, zero=not log)
            ticks = axis.ticks()
            assert 2 <= len(ticks) <= 12 and all(a < b for a, b in zip(ticks, ticks[1:])), (log, values, ticks)
            assert all(0 <= axis.at(v) <= 100 for v in values)
            assert math.isclose(axis.at(axis.low), 0) and math.isclose(axis.at(axis.high), 100)
    assert math.isclose(plot.Axis([1, 1000], 0, 90, 10).at(10), 30)
    assert [plot.short(v) for v in (0, 0.1234, 12.34, 1234, 1.5e6, 2e9)] == ["0", "0.123", "12.3", "1234", "1.5M", "2G"]
    assert plot.spread([3, 1, 2]) == (1, 2, 3) and plot.spread([4, 1, 2, 3]) == (1, 2.5, 4)


def program(folder, name, body):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"#!{sys.executable}\nimport sys\n{body}")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def orchestrated(here, bench_body, nodes=1):
    """report.py over programs that only pretend: its report, and the words of each run."""
    said = os.path.join(here, "said")
    fake = bench(nodes=nodes, prompts=[point("tokens", 1, 1)], batches=[point("batch", 1, 1)],
                 contexts=[point("context", 0, 1, added_bytes=0, added_seconds=0, added_bytes_seconds=0)])
    tenon = program(here, "tenon", f"if '--version' in sys.argv:\n    sys.exit(print('tenon fake'))\n"
                    f"open({said!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n{bench_body}\nprint({json.dumps(fake)!r})\n")
    kernel = program(here, "kernels", f"print({json.dumps(kernels())!r})\n")
    out = os.path.join(here, "out")
    argv, sys.argv = sys.argv, ["report.py", tenon, kernel, "/some/model.gguf", "--quick", "--rounds", "2", "--out", out]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = report.main()
    finally:
        sys.argv = argv
    with open(os.path.join(out, "report.json"), encoding="utf-8") as f, \
            open(os.path.join(out, "report.html"), encoding="utf-8") as drawn, open(said, encoding="utf-8") as words:
        check_page(drawn.read())
        return code, json.load(f), words.read().splitlines()


@case
def what_is_compared_alternates():
    with temporary() as here:
        code, made, said = orchestrated(here, "", nodes=2)
    assert code == 0 and sorted(made["sweeps"]) == ["batches", "contexts", "one"]
    assert sorted(made["compare"]) == ["levels", "pages", "pinning", "placement"]
    assert all(len(runs) == 2 for variants in made["compare"].values() for runs in variants.values())
    rounds = said[3:]
    half = len(rounds) // 2
    assert rounds[:half] == rounds[half:][::-1], "the second round goes the other way"
    assert {"--isa avx2", "--isa avx512", "--memory 4k", "--no-pin", "--placement mirror"} <= \
        {" ".join(line.split()[-2:]) if "--no-pin" not in line else "--no-pin" for line in rounds}
    assert all(f"tenon {line}" in "\n".join(made["commands"]) for line in said)


@case
def what_fails_is_named_and_left_out():
    body = "if '--no-pin' in sys.argv:\n    sys.exit('tenon: not today')\n"
    with temporary() as here:
        code, made, said = orchestrated(here, body)
    assert code == 0 and made["compare"]["pinning"]["not pinned"] == [] and len(made["compare"]["pinning"]["pinned"]) == 2
    assert any("not pinned" in s and "not today" in s for s in made["skipped"]), made["skipped"]
    assert "placements: one node" in made["skipped"]
    assert sum("--no-pin" in line for line in said) == 1, "it was tried once"
    with temporary() as here:
        code, made, said = orchestrated(here, "sys.exit('tenon: no model')")
    assert code == 1 and made["compare"] == {} and len(made["skipped"]) == 3


@case
def facts_of_this_host():
    found = host.facts()
    assert found["kernel"] == f"{os.uname().sysname} {os.uname().release}"
    assert all(isinstance(v, (str, int)) for v in found.values())


@case
def kernels_of_every_type_and_level():
    bench_kernels = need_program(os.path.join(BUILD, "bench", "kernels"))
    out, _ = run(bench_kernels, "--quick", "--json", "--seconds", "0.00001", timeout=600)
    j = json.loads(out)
    levels = [m["level"] for m in j["levels"]]
    assert levels[0] == "ref" and len(set(levels)) == len(levels)
    assert all(m["int8_macs_per_s"] > 0 and m["f32_macs_per_s"] > 0 and min(m["read_bytes_per_s"].values()) > 0
               for m in j["levels"])
    types = {r["type"] for r in j["kernels"] if r["kernel"] == "pack"}
    assert len(types) == 13 and j["clock_hz"] > 1e6
    for level in levels:
        rows = [r for r in j["kernels"] if r["level"] == level]
        products = {(r["type"], r["activations"], r["from"]) for r in rows if r["kernel"] == "matmul"}
        floats = {"F32", "F16", "BF16"}
        assert products == {(t, x, place) for t in types for place in ("l2", "memory")
                            for x in (("f32",) if t in floats else ("int8", "int16"))}, (level, products)
        assert {r["head_dim"] for r in rows if r["kernel"] == "attend"} == {64, 128, 256}
        assert {"quantise", "exp", "gated_silu", "rope_adjacent", "rope_halves", "sumsq", "selftest", "kv_store"} <= \
            {r["kernel"] for r in rows}
        assert all(r["seconds"][0] > 0 and r["seconds"] == sorted(r["seconds"]) for r in rows)
        assert all(r["name"] for r in rows if r["kernel"] == "matmul")
    for words in (("--level", "sse"), ("--function", "nothing"), ("--seconds", "0"), ("--what",)):
        run(bench_kernels, *words, expect=2)
    only, _ = run(bench_kernels, "--quick", "--json", "--level", "ref", "--function", "vector")
    assert {r["level"] for r in json.loads(only)["kernels"]} == {"ref"}


if __name__ == "__main__":
    main()
