#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenon beside another engine on the same file with the same threads, alternating in one run so that noise hits both.

    python3 -m venv V && V/bin/pip install llama-cpp-python       (builds from source: a quarter of an hour)
    V/bin/python bench/peers/beside.py build/src/tools/tenon MODEL.gguf [-t 2] [-p 512] [-n 64] [--rounds 5] [--batch 8]

    --peer llama.cpp    through llama-cpp-python (the default)
    --peer openvino     OpenVINO GenAI, which reads some GGUF files (pip install openvino-genai)
    --peer PATH         a llama-bench, of llama.cpp or of a fork; --peer-args "..." goes to it (ik_llama.cpp: "-rtr 1")

Each round is a fresh process of either; each takes the best of two tries.  Printed: tokens per second of both, and the
ratio round by round as minimum, median, maximum.  --batch decodes so many sequences at once, each after its own prompt.
"""
import argparse
import json
import shlex
import statistics
import subprocess
import sys
import time


def invented(count, vocabulary, seed=0):
    return [((i + seed * 977) * 2654435761 >> 7) % (vocabulary - 1) for i in range(count)]


def best_of(attempts):
    """The better of each rate."""
    attempts = list(attempts)
    return {what: max(a[what] for a in attempts) for what in attempts[0]}


# --- llama.cpp, one sequence by its own class, several by the functions below it ---

def llama_cpp_one(a):
    import llama_cpp

    llm = llama_cpp.Llama(a.model, n_ctx=a.prompt + a.generate + 8, n_batch=512, n_ubatch=512, n_threads=a.threads,
                          n_threads_batch=a.threads, logits_all=False, verbose=False)
    ids = invented(a.prompt, llm.n_vocab())

    def attempt():
        llm.reset()
        begin = time.monotonic()
        llm.eval(ids)
        middle = time.monotonic()
        for _ in range(a.generate):
            llm.eval([llm.sample(temp=0.0)])
        return {"prefill": a.prompt / (middle - begin), "decode": a.generate / (time.monotonic() - middle)}

    return best_of(attempt() for _ in range(2))


def llama_cpp_batch(a):
    import ctypes

    import llama_cpp as lib
    import numpy as np

    silent = lib.llama_log_callback(lambda level, text, arg: None)
    lib.llama_log_set(silent, ctypes.c_void_p(0))
    lib.llama_backend_init()
    model = lib.llama_model_load_from_file(a.model.encode(), lib.llama_model_default_params())
    p = lib.llama_context_default_params()
    p.n_ctx, p.n_batch, p.n_ubatch, p.n_seq_max = a.batch * (a.prompt + a.generate + 8), 512, 512, a.batch
    p.n_threads = p.n_threads_batch = a.threads
    context = lib.llama_init_from_model(model, p)
    vocabulary = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
    batch = lib.llama_batch_init(512, 0, 1)

    def decode(tokens):
        """[(token, position, sequence, whether its logits are wanted)]; the greedy choices of those."""
        batch.n_tokens = len(tokens)
        for i, (token, position, sequence, wanted) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, position, 1
            batch.seq_id[i][0], batch.logits[i] = sequence, wanted
        if lib.llama_decode(context, batch):
            raise SystemExit("llama_decode failed")
        return [int(np.argmax(np.ctypeslib.as_array(lib.llama_get_logits_ith(context, i), (vocabulary,))))
                for i, t in enumerate(tokens) if t[3]]

    def attempt():
        lib.llama_memory_clear(lib.llama_get_memory(context), True)
        chosen, begin = [], time.monotonic()
        for s in range(a.batch):
            ids = invented(a.prompt, vocabulary, s)
            for first in range(0, a.prompt, 512):
                part = ids[first:first + 512]
                found = decode([(t, first + i, s, first + i == a.prompt - 1) for i, t in enumerate(part)])
            chosen += found
        middle = time.monotonic()
        for n in range(a.generate):
            chosen = decode([(t, a.prompt + n, s, True) for s, t in enumerate(chosen)])
        return {"prefill": a.batch * a.prompt / (middle - begin),
                "decode": a.batch * a.generate / (time.monotonic() - middle)}

    return best_of(attempt() for _ in range(2))


# --- OpenVINO GenAI ---

def openvino(a):
    import numpy as np
    import openvino as ov
    import openvino_genai as genai

    pipe = genai.LLMPipeline(a.model, "CPU", INFERENCE_NUM_THREADS=a.threads)
    config = genai.GenerationConfig()
    config.max_new_tokens, config.ignore_eos, config.do_sample = a.generate + 1, True, False
    config.apply_chat_template = False

    def attempt(i):
        ids = np.array([invented(a.prompt, 32000, i)], dtype=np.int64)
        metrics = pipe.generate(ov.Tensor(ids), config).perf_metrics
        return {"prefill": a.prompt / metrics.get_ttft().mean * 1e3, "decode": 1e3 / metrics.get_tpot().mean}

    attempt(0)          # what is compiled at the first call is no speed
    return best_of(attempt(i) for i in (1, 2))


# --- a llama-bench ---

def llama_bench(a):
    out = subprocess.run([a.peer, "-m", a.model, "-t", str(a.threads), "-p", str(a.prompt), "-n", str(a.generate), "-r", "2",
                          "-o", "json", *shlex.split(a.peer_args)], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = json.loads(out[out.index("["):])
    return {"prefill": max(t for r in rows if not r["n_gen"] for t in r["samples_ts"]),
            "decode": max(t for r in rows if r["n_gen"] for t in r["samples_ts"])}


def peer(a):
    if a.peer == "llama.cpp":
        return llama_cpp_batch(a) if a.batch > 1 else llama_cpp_one(a)
    if a.batch > 1:
        raise SystemExit("only llama.cpp is measured with several sequences")
    return openvino(a) if a.peer == "openvino" else llama_bench(a)


# --- the rounds ---

def run_peer(a):
    out = subprocess.run([sys.executable, __file__, "--inside", *sys.argv[1:]], check=True, stdout=subprocess.PIPE,
                         text=True).stdout
    return json.loads(out.splitlines()[-1])


def run_tenon(a):
    out = subprocess.run([a.tenon, "bench", "-q", "-m", a.model, "-t", str(a.threads), "-p", str(a.prompt), "-n",
                          str(a.generate), "--repeat", "2", "--batch", str(a.batch), "--json", *shlex.split(a.args)],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    j = json.loads(out)
    return {"prefill": j["prefill"]["tokens_per_s"], "decode": j["decode"]["tokens_per_s"],
            "fraction": j["decode"]["bandwidth_fraction"], "bandwidth": j["read_bandwidth_bytes_per_s"]}


def spread(values):
    return f"{min(values):.2f} {statistics.median(values):.2f} {max(values):.2f}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tenon")
    p.add_argument("model")
    p.add_argument("-t", "--threads", type=int, default=2)
    p.add_argument("-p", "--prompt", type=int, default=512)
    p.add_argument("-n", "--generate", type=int, default=64)
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--args", default="", help="more for tenon bench, one word: --args=\"--isa avx2\"")
    p.add_argument("--peer", default="llama.cpp")
    p.add_argument("--peer-args", default="")
    p.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.inside:
        print(json.dumps(peer(a)))
        return
    ours, theirs = [], []
    for i in range(a.rounds):
        ours.append(run_tenon(a))
        theirs.append(run_peer(a))
        print(f"round {i + 1}: tenon prefill {ours[-1]['prefill']:.1f} decode {ours[-1]['decode']:.1f}, "
              f"peer prefill {theirs[-1]['prefill']:.1f} decode {theirs[-1]['decode']:.1f} tokens/s", flush=True)
    for what in ("prefill", "decode"):
        print(f"{what:8} ratio (min median max): {spread([o[what] / t[what] for o, t in zip(ours, theirs)])}")
    print(f"decode's share of the read bandwidth (min median max): {spread([o['fraction'] for o in ours])}")


if __name__ == "__main__":
    main()
