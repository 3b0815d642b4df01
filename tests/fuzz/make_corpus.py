#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seed corpus of fuzz_gguf, tests/fuzz/corpus/gguf/: small files, good ones and one of each kind of fault.

  make_corpus.py [DIRECTORY]      write the files (default: beside this script)
  make_corpus.py --check          exit 1 where the committed files are not what this writes
"""
import os
import struct
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "gguf")
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "<B", I8: "<b", U16: "<H", I16: "<h", U32: "<I", I32: "<i", F32: "<f", BOOL: "<B", U64: "<Q",
           I64: "<q", F64: "<d"}
TENSORS = {"F32": (0, 1, 4), "F16": (1, 1, 2), "BF16": (30, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20),
           "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34), "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110),
           "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210)}
M64 = (1 << 64) - 1


def string(s, claimed=None):
    s = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<Q", len(s) if claimed is None else claimed) + s


def value(kind, v):
    return string(v) if kind == STRING else struct.pack(FORMATS[kind], v)


def kv(key, kind, v):
    return string(key) + struct.pack("<I", kind) + value(kind, v)


def array(key, kind, values, claimed=None):
    head = string(key) + struct.pack("<IIQ", ARRAY, kind, len(values) if claimed is None else claimed)
    return head + b"".join(value(kind, v) for v in values)


def tensor(name, shape, kind, offset, dims=None):
    head = string(name) + struct.pack("<I", len(shape) if dims is None else dims)
    return head + b"".join(struct.pack("<Q", n) for n in shape) + struct.pack("<IQ", kind, offset)


def gguf(kvs=(), tensors=(), data=0, version=3, alignment=32, n_kv=None, n_tensors=None, magic=b"GGUF"):
    head = magic + struct.pack("<IQQ", version, len(tensors) if n_tensors is None else n_tensors,
                               len(kvs) if n_kv is None else n_kv)
    head += b"".join(kvs) + b"".join(tensors)
    return head + (b"\0" * (-len(head) % alignment) + b"\1" * data if data else b"")


def good():
    yield "empty-v3", gguf()
    yield "empty-v2", gguf(version=2)
    scalars = [kv(f"k{kind}", kind, "text" if kind == STRING else 1) for kind in range(13) if kind != ARRAY]
    yield "scalars", gguf(scalars)
    yield "extremes", gguf([kv("a", I8, -128), kv("b", I64, -(1 << 63)), kv("c", U64, M64), kv("d", F32, float("nan")),
                            kv("e", F64, float("-inf")), kv("f", STRING, b"\xff\x1b[2J\0\xe2\x80\xae"), kv("g", BOOL, 0)])
    arrays = [array(f"a{kind}", kind, ["", "x", "yz"] if kind == STRING else [0, 1, 1]) for kind in range(13) if kind != ARRAY]
    yield "arrays", gguf(arrays + [array("none", STRING, []), array("empty", F64, [])])
    shape = {1: [], 32: [2], 256: [1, 2, 1]}
    rows, at = [], 0
    for name, (kind, values, size) in TENSORS.items():
        extent = [max(values, 4)] + shape[values]
        rows.append(tensor(name, extent, kind, at))
        at += -(-(extent[0] // values * size * (2 if len(extent) > 1 else 1)) // 32) * 32
    yield "tensors", gguf(tensors=rows, data=at)
    yield "alignment-8", gguf([kv("general.alignment", U32, 8)], [tensor("a", [2], 0, 0), tensor("b", [1], 0, 8)], 16,
                              alignment=8)
    yield "alignment-64k", gguf([kv("general.alignment", U32, 65536)])
    yield "unknown-type", gguf(tensors=[tensor("a", [7, 3], 99, 0), tensor("ragged", [48], 2, 0)], data=64)
    tokens = ["<unk>", "<s>", "</s>", "<0x00>", "\u2581a", "b"]
    yield "vocabulary", gguf([kv("general.architecture", STRING, "llama"), kv("tokenizer.ggml.model", STRING, "llama"),
                              array("tokenizer.ggml.tokens", STRING, tokens),
                              array("tokenizer.ggml.scores", F32, [0.0, 0, 0, 0, -1, -2]),
                              array("tokenizer.ggml.token_type", I32, [2, 3, 3, 6, 1, 1]),
                              kv("tokenizer.ggml.bos_token_id", U32, 1)])


def faulty():
    one = kv("a", U32, 1)
    yield "magic", gguf(magic=b"GGML")
    yield "version-1", gguf(version=1)
    yield "big-endian", gguf(version=0x03000000)
    for name, n in {"2e16": 1 << 16, "2e58": 1 << 58, "negative": M64}.items():
        yield f"kv-count-{name}", gguf([one], n_kv=n)
        yield f"tensor-count-{name}", gguf([one], [tensor("t", [4], 0, 0)], 32, n_tensors=n)
        yield f"key-{name}", gguf([string("a", n) + struct.pack("<II", U32, 1)])
        yield f"string-{name}", gguf([string("a") + struct.pack("<I", STRING) + string("b", n)])
        yield f"array-{name}", gguf([array("a", U64, [1], n)])
        yield f"strings-{name}", gguf([array("a", STRING, ["b"], n)])
        yield f"name-{name}", gguf(tensors=[string("t", n) + struct.pack("<IQIQ", 1, 4, 0, 0)], data=32)
        yield f"dim-{name}", gguf(tensors=[tensor("t", [2, n], 0, 0)], data=32)
        yield f"offset-{name}", gguf(tensors=[tensor("t", [4], 0, n & ~31)], data=32)
    yield "empty-key", gguf([kv("", U32, 1)])
    yield "same-key", gguf([one, one])
    yield "value-type", gguf([string("a") + struct.pack("<II", 13, 0)])
    yield "nested", gguf([string("a") + struct.pack("<IIQ", ARRAY, ARRAY, 1) + struct.pack("<IQ", U8, 0)])
    yield "bool-2", gguf([kv("a", BOOL, 2)])
    yield "dims-0", gguf(tensors=[tensor("t", [], 0, 0)], data=32)
    yield "dims-5", gguf(tensors=[tensor("t", [1] * 5, 0, 0)], data=32)
    yield "dim-zero", gguf(tensors=[tensor("t", [0], 2, 0)], data=32)
    yield "product", gguf(tensors=[tensor("t", [65536] * 4, 0, 0)], data=32)
    yield "same-tensor", gguf(tensors=[tensor("t", [4], 0, 0), tensor("t", [4], 0, 32)], data=64)
    yield "overlap", gguf(tensors=[tensor("t", [16], 0, 0), tensor("u", [4], 0, 32)], data=64)
    yield "past-end", gguf(tensors=[tensor("t", [16], 0, 0)], data=63)
    yield "unaligned", gguf(tensors=[tensor("t", [4], 0, 4)], data=64)
    for name, a in {"0": 0, "12": 12, "2e31": 1 << 31}.items():
        yield f"alignment-{name}", gguf([kv("general.alignment", U32, a)], [tensor("t", [4], 0, 0)], 32)
    yield "alignment-string", gguf([kv("general.alignment", STRING, "32")])
    yield "truncated", gguf([one, array("s", STRING, ["abc", "def"])])[:-2]


def main():
    check = sys.argv[1:] == ["--check"]
    folder = HERE if check or len(sys.argv) < 2 else sys.argv[1]
    files = {name + ".gguf": data for name, data in [*good(), *faulty()]}
    if check:
        there = {n: open(os.path.join(folder, n), "rb").read() for n in os.listdir(folder)}
        bad = [n for n in sorted(files) if there.get(n) != files[n]]
        print("\n".join(f"{n}: not what make_corpus.py writes" for n in bad) or f"{len(files)} files as written")
        sys.exit(1 if bad else 0)
    os.makedirs(folder, exist_ok=True)
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
