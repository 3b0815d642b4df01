#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tenond as its clients meet it: answers, streams, cancels, limits, vanished clients, many clients, idleness, memory."""
import contextlib
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import pages
from cases import SLOW, TENOND, TOP, Skip, case, cases_for, main, model, run, temporary, tenon, tokenize, within
from peer import Daemon, Gone, Refused, codec, wire

FRANCE = "The capital of France is Paris. The capital of Italy is"
PROMPTS = [FRANCE, "Once upon a time, there was a little", "Water boils at 100 degrees", "1, 2, 3, 4, 5, 6,",
           "def fibonacci(n):\n", "The three primary colors are", "The quick brown fox", "List of planets: Mercury, Venus,"]
SEEDED = {"temperature": 0.8, "top_k": 40, "seed": 11, "flags": wire.FLAG_GENERATE_SEED}
MIB = 1 << 20

_shared = []


def daemon():
    """One daemon for the cases that leave it as it was."""
    if not _shared:
        _shared.append(Daemon(model("smollm2")))
    return _shared[0]


def refused_with(code, function, *words, **named):
    try:
        function(*words, **named)
    except Refused as e:
        assert e.code == code, f"{e} instead of {wire.ERRORS[code]}"
        return e
    raise AssertionError(f"not refused, though {wire.ERRORS[code]} was due")


def long_one(peer, prompt="Once upon a time", **fields):
    """A request that runs until it is stopped."""
    return peer.generate(prompt, 0, flags=wire.FLAG_GENERATE_IGNORE_EOS, **fields)


def tokens_of(peer, request, count):
    """Reads until `count` tokens of a request have come."""
    seen = 0
    while seen < count:
        _, name, fields = peer.next(request)
        seen += len(fields["tokens"]) if name == "TOKENS" else 0


def settle(peer, seconds=2.0):
    """Waits until nothing runs; returns how long it took."""
    begun = time.monotonic()
    while time.monotonic() - begun < within(seconds):
        c = peer.counters()
        if not c["requests_running"] and not c["requests_waiting"]:
            return time.monotonic() - begun
        time.sleep(0.01)
    raise AssertionError(f"still busy after {seconds} s: {peer.counters()}")


# --- what it says of itself ---

@case
def answers_while_loading():
    with Daemon(model("smollm2"), wait=False) as d:
        def talks():
            with d.peer() as p:
                reply = p.call("PING", {"opaque": 7})[0]
                assert reply["opaque"] == 7 and reply["server_ns"] > 0
                state = p.call("MODEL_LIST")[0]["models"][0]["state"]
                if state == wire.MODEL_STATE_LOADING:
                    refused_with(wire.E_LOADING, p.ask, FRANCE, 1)
                return True
        d.wait_until("PING is answered", talks, 10)
        d.wait_ready()
        with d.peer() as p:
            assert p.ask(FRANCE, 4)[0].startswith(b" Rome")


@case
def says_what_it_uses():
    with daemon().peer() as p:
        info = p.call("MODEL_INFO", {"model": "m"})[0]
        assert info["architecture"] == "llama" and info["tokenizer"] == "bpe", info
        assert info["level"] in ("ref", "avx2", "avxvnni", "avx512", "amx") and info["threads"] >= 1 and info["nodes"] >= 1, info
        assert f"Q4_1 matmul_q4_1_a32_f32__{info['level']}" in info["kernels"], info
        assert info["vocab_size"] == 49152 and info["state"] == wire.MODEL_STATE_READY, info
        assert 0 < info["context"] <= info["context_trained"] and info["sequences"] >= 1, info
        assert "assistant" in info["template"], info
        refused_with(wire.E_NOT_FOUND, p.call, "MODEL_INFO", {"model": "nobody"})


@case
def tokenizes_as_the_tool_does():
    text = "Hello, <|im_start|> wörld \U0001f642!\n"
    with daemon().peer() as p:
        for kind, options in ((wire.SEGMENT_KIND_TRUSTED_TEXT, []), (wire.SEGMENT_KIND_UNTRUSTED_TEXT, ["--no-special"])):
            replies = p.call("TOKENIZE", {"segments": [{"kind": kind, "data": text}]})
            ids = [i for r in replies for i in r["ids"]]
            assert ids == tokenize(model("smollm2"), text, *options), (kind, ids)
        back = b"".join(r["text"] for r in p.call("DETOKENIZE", {"ids": ids}))
        assert back == text.encode(), back


# --- answers ---

@case
def same_answer_as_the_tool():
    with daemon().peer() as p:
        for fields, options in (({}, ["--temp", 0]), (SEEDED, ["--temp", 0.8, "--top-k", 40, "--seed", 11])):
            text, ids, done = p.ask(FRANCE, 12, **fields)
            alone, _ = tenon("run", "-m", model("smollm2"), "-p", FRANCE, "-n", 12, *options)
            assert text.rstrip(b"\n") == alone.rstrip(b"\n"), (text, alone)
            assert done["generated_tokens"] == len(ids) == 12 and done["reason"] == wire.REASON_LENGTH, done


@case
def same_answer_in_company():
    """Eight at once, two connections: each gets what it gets alone."""
    with daemon().peer() as p, daemon().peer() as q:
        alone = [p.ask(prompt, 16, **(SEEDED if i % 2 else {}))[:2] for i, prompt in enumerate(PROMPTS)]
        for _ in range(2):
            cookies = [((p, q)[i % 2], (p, q)[i % 2].generate(prompt, 16, **(SEEDED if i % 2 else {})))
                       for i, prompt in enumerate(PROMPTS)]
            assert [peer.answer(cookie)[:2] for peer, cookie in cookies] == alone


@case
def seeds_are_echoed():
    with daemon().peer() as p:
        cookie = p.generate(FRANCE, 12, temperature=1.5)
        _, name, started = p.next(cookie)
        assert name == "STARTED", name
        text, ids, _ = p.answer(cookie)
        again = p.ask(FRANCE, 12, temperature=1.5, seed=started["seed"], flags=wire.FLAG_GENERATE_SEED)
        assert (text, ids) == again[:2]


@case
def stream_is_whole():
    """Offsets join, released bytes are whole UTF-8, and the parts are the answer."""
    with daemon().peer() as p:
        cookie = p.generate(" ".join(["\U0001f680 \U0001f642"] * 5 + ["\U0001f680"]), 40)
        text, parts = b"", 0
        while True:
            header, name, fields = p.next(cookie)
            if name == "TOKENS":
                at = 0
                for t in fields["tokens"]:
                    assert t["text_offset"] == len(text) or not t["text_length"], fields
                    piece = fields["text"][at : at + t["text_length"]]
                    piece.decode()
                    at, text, parts = at + len(piece), text + piece, parts + 1
            if header.flags & codec.END:
                break
        assert fields["text_offset"] == len(text)
        text += fields["text"]
        assert parts == 40 and "\U0001f642".encode() in text, text


@case
def stops():
    with daemon().peer() as p:
        whole, ids, _ = p.ask(FRANCE, 24)
        middle = whole[5:12]        # crosses tokens
        text, _, done = p.ask(FRANCE, 24, stop_strings=[middle.decode()])
        assert text == whole[: whole.index(middle)] and done["reason"] == wire.REASON_STOP, (text, done)
        _, some, done = p.ask(FRANCE, 24, stop_ids=[ids[3]])
        assert len(some) <= ids.index(ids[3]) + 1 and done["reason"] == wire.REASON_STOP, (some, done)
        _, _, done = p.ask("Once", 0, deadline_ms=300, flags=wire.FLAG_GENERATE_IGNORE_EOS)
        assert done["reason"] == wire.REASON_DEADLINE, done


@case
def log_probabilities():
    with daemon().peer() as p:
        cookie = p.generate(FRANCE, 4, n_logprobs=5, flags=wire.FLAG_GENERATE_LOGPROB)
        header, found = None, []
        while header is None or not header.flags & codec.END:
            header, name, fields = p.next(cookie)
            if name == "TOKENS":
                at = 0
                for t in fields["tokens"]:
                    found.append((t, fields["alternatives"][at : at + t["alternatives"]]))
                    at += t["alternatives"]
        assert len(found) == 4
        for t, alternatives in found:
            values = [a["logprob"] for a in alternatives]
            assert len(values) == 5 and values == sorted(values, reverse=True) and values[0] < 0, values
            assert alternatives[0]["id"] == t["id"] and alternatives[0]["logprob"] == t["logprob"]


@case
def credits_hold_it_back():
    with daemon().peer(timeout=2) as p:
        cookie = p.generate(FRANCE, 6, credits=2)
        tokens_of(p, cookie, 2)
        try:
            _, name, _ = p.next(cookie)
            raise AssertionError(f"{name} came without credit")
        except socket.timeout:
            pass
        p.send("GRANT", {"credits": 100}, cookie)
        assert p.answer(cookie)[2]["generated_tokens"] == 6


# --- what is refused ---

@case
def requests_that_are_refused():
    with daemon().peer() as p:
        refused_with(wire.E_NOT_FOUND, p.ask, FRANCE, 4, model="nobody")
        refused_with(wire.E_CONTEXT_TOO_LONG, p.ask, [100] * 200_000, 4)
        refused_with(wire.E_INVALID, p.ask, [4_000_000_000], 4)
        refused_with(wire.E_INVALID, p.ask, "", 4)
        for verb, fields in (("LOAD", {"model": "m"}), ("UNLOAD", {"model": "m"}), ("RELOAD", {}), ("DRAIN", {})):
            refused_with(wire.E_PERMISSION, p.call, verb, fields)
        for name, value in (("temperature", 1e-9), ("top_p", 1.5), ("n_logprobs", 1000), ("min_p", -1.0)):
            payload = unchecked("GENERATE", name, value, segments=[{"kind": 1, "data": FRANCE}], max_tokens=4)
            cookie = 1000 + len(name)
            p.raw(codec.encode_header(codec.Header(len(payload), wire.MESSAGES["GENERATE"].type, 0, 0, cookie)) + payload)
            try:
                p.answer(cookie)
                raise AssertionError(f"{name} = {value} was taken")
            except Refused as e:
                assert e.code in (wire.E_INVALID, wire.E_LIMIT), e
        assert p.ask(FRANCE, 4)[0].startswith(b" Rome")


def unchecked(message, name, value, **fields):
    """A payload with one scalar out of its range, which the codec would not write."""
    m = wire.MESSAGES[message]
    payload = bytearray(codec.encode_payload(message, fields))
    field = next(f for f in m.fields if f.name == name)
    import struct   # pylint: disable=import-outside-toplevel
    struct.pack_into(codec.FORMATS[field.kind], payload, field.at, value)
    return bytes(payload)


def header(length=0, type_=0x0002, flags=0, nfds=0, request=1):
    return codec.encode_header(codec.Header(length, type_, flags, nfds, request))


FRAMING_ERRORS = {
    "noise": b"GET / HTTP/1.1\r\n\r\n" * 4,
    "odd length": header(12) + bytes(12),
    "too long": header(0xFFFFFFF8) + bytes(64),
    "unknown flags": header(16, flags=0x80) + bytes(16),
    "too many descriptors": header(16, nfds=9) + bytes(16),
    "descriptors that are not there": header(16, nfds=2) + bytes(16),
    "error without end": header(16, flags=codec.ERROR) + bytes(16),
}


@case
def framing_errors_close():
    """One ERROR frame with request 0, then the end; others do not notice."""
    for name, data in FRAMING_ERRORS.items():
        with daemon().peer(timeout=5) as p:
            p.raw(data)
            try:
                while True:
                    h, what, _ = p.frame()
                    assert what == "ERROR" and h.request == 0, (name, h, what)
            except (Gone, ConnectionResetError):
                pass
            except socket.timeout:
                raise AssertionError(f"{name}: the connection stays open") from None
    with daemon().peer() as p:
        assert p.ask(FRANCE, 4)[0].startswith(b" Rome")


@case
def payload_errors_do_not_close():
    with daemon().peer() as p:
        generate = wire.MESSAGES["GENERATE"].type
        good = codec.encode_payload("GENERATE", {"segments": [{"kind": 1, "data": FRANCE}], "max_tokens": 1})
        for n, payload in enumerate((bytes(8), b"\xff" * 64, good[:40], good + b"\1\0\0\0\xff\0\0\0",
                                     good + b"\x77\x80\0\0\0\0\0\0"), 500):
            p.raw(header(len(payload) - len(payload) % 8, generate, 0, 0, n) + payload[: len(payload) - len(payload) % 8])
            try:
                p.answer(n)
                raise AssertionError(f"payload {n} was taken")
            except Refused as e:
                assert e.code in (wire.E_INVALID, wire.E_UNSUPPORTED, wire.E_LIMIT), e
        p.raw(header(0, 0x0999, 0, 0, 900))
        refused_with(wire.E_UNSUPPORTED, p.next, 900)
        p.raw(header(0, 0x0999, codec.SKIP, 0, 901))
        busy = long_one(p)
        p.send("PING", {"opaque": 1}, busy)             # a cookie that is in flight
        tokens_of(p, p.generate(FRANCE, 1), 0)
        p.send("CANCEL", {}, busy)


@case
def without_hello():
    with daemon().peer(hello=False, timeout=5) as p:
        p.send("PING", {"opaque": 1})
        try:
            _, name, _ = p.frame()
            assert name == "ERROR", name
        except (Gone, ConnectionResetError):
            pass
    with daemon().peer(hello=False, timeout=6) as p:
        begun = time.monotonic()
        try:
            while True:
                p.frame()
        except (Gone, ConnectionResetError):
            pass
        assert 1 < time.monotonic() - begun < 5, "the handshake has two seconds"


# --- cancel and vanish ---

@case
def cancel_ends_one():
    """CANCEL ends that request within a step; another connection's request with the same cookie goes on."""
    with daemon().peer() as p, daemon().peer() as q:
        mine, theirs = long_one(p), q.generate(FRANCE, 24)
        assert mine == theirs
        tokens_of(p, mine, 3)
        begun = time.monotonic()
        p.send("CANCEL", {}, mine)
        done = p.answer(mine)[2]
        assert done["reason"] == wire.REASON_CANCELLED and time.monotonic() - begun < within(1), done
        p.send("CANCEL", {}, 4711)                      # unknown: ignored
        text, _, done = q.answer(theirs)
        assert done["reason"] == wire.REASON_LENGTH and text.startswith(b" Rome"), (text, done)
        settle(p)


@case
def vanished_client_frees_its_place():
    """Running, waiting and in the middle of its prompt: all gone within a step or two."""
    with daemon().peer() as watcher:
        settle(watcher)
        before = watcher.counters()
        many = before["requests_running"] + 3 * watcher.call("MODEL_INFO")[0]["sequences"]
        with daemon().peer() as p:
            first = [long_one(p, PROMPTS[i % 8]) for i in range(min(many, 60))]
            tokens_of(p, first[0], 2)
            latest = time.monotonic() + within(2)
            while watcher.counters()["requests_waiting"] == 0:
                assert time.monotonic() < latest, watcher.counters()
                time.sleep(0.01)
        took = settle(watcher, 3)
        with daemon().peer() as p:
            p.generate([504] * 1500, 4)
            time.sleep(0.05)
        settle(watcher, 3)
        after = watcher.counters()
        assert after["kv_blocks_used"] == before["kv_blocks_used"], (before, after)
        print(f"  {len(first)} requests gone after {took:.2f} s")
        assert watcher.ask(FRANCE, 4)[0].startswith(b" Rome")


@case
def half_closed_is_not_gone():
    with daemon().peer() as p:
        cookie = p.generate(FRANCE, 12)
        p.sock.shutdown(socket.SHUT_WR)
        assert p.answer(cookie)[2]["generated_tokens"] == 12


# --- many ---

@case
def a_hundred_clients():
    """Each a user of its own (64 connections are one user's limit); all get the right answer, none is starved."""
    if os.geteuid() != 0:
        raise Skip("needs root, to be many users")
    # In /tmp: all users reach it.
    with tempfile.TemporaryDirectory() as here, Daemon(model("smollm2"), path=os.path.join(here, "s")) as d:
        os.chmod(here, 0o755)
        os.chmod(d.path, 0o666)
        with d.peer() as p:
            wanted = p.ask(FRANCE, 4)[0]
        peers = []
        try:
            for i in range(100):
                os.seteuid(20_000 + i)
                try:
                    peers.append(d.peer())
                finally:
                    os.seteuid(0)
            cookies = [p.generate(FRANCE, 4) for p in peers]
            assert all(p.answer(c)[0] == wanted for p, c in zip(peers, cookies))
            files = d.open_files()  # Counted while all are held: the daemon closes its ends as fast as it can.
        finally:
            for p in peers:
                p.close()
        with d.peer() as p:
            settle(p)
        d.wait_until("descriptors are closed", lambda: d.open_files() <= files - 100, 5)


@case
def connections_of_one_user():
    """The 65th is refused, at once and with a reason, and the others go on."""
    with Daemon(model("smollm2")) as d:
        peers = []
        try:
            for _ in range(wire.LIMITS["connections_uid"]):
                peers.append(d.peer())
            try:
                peers.append(d.peer(timeout=5))
                raise AssertionError("one more than the limit was taken")
            except (Refused, Gone, ConnectionResetError, BrokenPipeError):
                pass
            assert peers[0].ask(FRANCE, 4)[0].startswith(b" Rome")
        finally:
            for p in peers:
                p.close()


# --- the process ---

@case
def idle_costs_nothing():
    with daemon().peer() as p:
        p.ask(FRANCE, 4)
        settle(p)
        time.sleep(0.5)
        before = daemon().cpu_seconds()
        time.sleep(4)
        used = daemon().cpu_seconds() - before
        assert used <= 0.01, f"{used} s of CPU in 4 s of idleness"


# Few keys and values, but in the last: what loading takes on top would hide behind them.
LITTLE_KV = ["--kv-bytes", "32M", "--sequences", "2"]
MEMORY_CASES = {
    "huge pages": ("smollm2", lambda: pages.at_least(200), LITTLE_KV),
    "no huge pages": ("smollm2", pages.taken, [*LITTLE_KV, "--memory", "ladder"]),
    "preadv": ("smollm2", lambda: pages.at_least(200), [*LITTLE_KV, "--io", "preadv"]),
    "two nodes": ("smollm2", lambda: pages.at_least(200), [*LITTLE_KV, "--topology", "numa:2 core:1 pu:1"]),
    "gemma": ("gemma", lambda: pages.at_least(240, or_fewer=True), LITTLE_KV),
    "default": ("smollm2", lambda: pages.at_least(200, or_fewer=True), []),
}


class HugeMost:
    """The most huge pages that a daemon held meanwhile, which no high-water mark of the kernel tells: looked at often."""

    def __init__(self, daemon_):
        self.bytes, self._daemon, self._done = 0, daemon_, threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self):
        while not self._done.wait(0.002):
            with contextlib.suppress(OSError):      # it ended, of which others speak
                self.bytes = max(self.bytes, self._daemon.status("HugetlbPages"))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()


@cases_for(MEMORY_CASES)
def peak_memory(name):
    """At most packed weights, KV, 64 MiB of staging, and 32 MiB of everything else; a sanitizer's shadow is not ours."""
    file, pool, options = MEMORY_CASES[name]
    with pool(), Daemon(model(file), wait=False, options=options) as d:
        with HugeMost(d) as most:
            d.wait_ready()
            with d.peer() as p:
                for prompt in PROMPTS:
                    p.ask(prompt * 10, 8)
                info = p.call("MODEL_INFO")[0]
        huge = most.bytes
        peak = d.status("VmHWM") + huge
        bound = info["weight_bytes"] + info["kv_bytes"] + (96 if SLOW == 1 else 160) * MIB
        print(f"  peak {peak / MIB:.0f} MiB (huge pages {huge / MIB:.0f}), weights {info['weight_bytes'] / MIB:.0f}, "
              f"KV {info['kv_bytes'] / MIB:.0f}, bound {bound / MIB:.0f}")
        assert peak <= bound, peak
        if (huge == 0) != (name == "no huge pages"):
            raise Skip("within the bound, but others took or left huge pages meanwhile")


@case
def weights_lie_in_huge_pages():
    with pages.at_least(200), Daemon(model("smollm2")) as d, d.peer() as p:
        info = p.call("MODEL_INFO")[0]
        huge = sum(page["bytes"] for page in info["pages"] if page["page_size"] >= 2 * MIB)
        assert huge >= info["weight_bytes"], info["pages"]
        assert d.status("HugetlbPages") >= info["weight_bytes"]


@case
def terminates_gracefully():
    """SIGTERM: the running request finishes, then the process ends with 0 and its socket is gone or refuses."""
    with Daemon(model("smollm2")) as d, d.peer() as p:
        cookie = p.generate(FRANCE, 24)
        tokens_of(p, cookie, 1)
        d.process.send_signal(signal.SIGTERM)
        assert p.answer(cookie)[2]["reason"] == wire.REASON_LENGTH
        d.process.wait(10)
        assert d.process.returncode == 0, d.process.returncode


@case
def starts_over_a_dead_socket():
    """After kill -9 the socket file is in the way of nobody; a living daemon's socket is not taken over."""
    with Daemon(model("smollm2")) as first:
        first.expected = -signal.SIGKILL
        first.process.kill()
        first.process.wait()
        assert os.path.exists(first.path)
        with Daemon(model("smollm2"), path=first.path) as second, second.peer() as p:
            assert p.ask(FRANCE, 4)[0].startswith(b" Rome")
            third = Daemon(model("smollm2"), path=first.path, wait=False)
            third.expected = None
            code = third.process.wait(30)
            assert code == 69 and first.path in third.said(), (code, third.said())
            assert p.ask(FRANCE, 4)[0].startswith(b" Rome"), "the other daemon took the socket away"
            with second.peer() as q:
                assert q.ask(FRANCE, 4)[0].startswith(b" Rome")


@case
def wrong_command_lines():
    run(TENOND, "--no-such-option", expect=2)
    run(TENOND, "--model", "no-equals-sign", expect=78)
    run(TENOND, expect=78)
    with temporary() as here:
        sock, conf = os.path.join(here, "s"), os.path.join(here, "tenon.conf")
        _, said = run(TENOND, "--model", "m=/nonexistent.gguf", "--socket", sock, expect=None, timeout=20)
        assert b"/nonexistent.gguf" in said, said
        with open(conf, "w", encoding="ascii") as f:
            f.write(f"[server]\nsocket = {sock}\nsequencse = 3\n[model m]\nfile = {model('smollm2')}\n")
        _, said = run(TENOND, "--config", conf, "--check-config", expect=None)
        assert b"tenon.conf:3" in said, said            # a wrong key is told with its line


@case
def huge_pages_or_nothing():
    """--memory require-huge where the pages are taken: exit 71 and what is missing, soon."""
    with pages.taken(), temporary() as here:
        _, said = run(TENOND, "--model", f"m={model('smollm2')}", "--socket", os.path.join(here, "s"),
                      "--memory", "require-huge", expect=71, timeout=30)
        assert b"pages" in said, said


# --- the tools as clients ---

@case
def control():
    out, _ = tenon("ctl", "ping", "--socket", daemon().path)
    out, _ = tenon("ctl", "status", "--socket", daemon().path)
    assert b"ready" in out and b"m" in out, out
    tenon("ctl", "ping", "--socket", "/nonexistent/socket", expect=69)


@case
def run_over_the_socket():
    alone, _ = tenon("run", "-m", model("smollm2"), "-p", FRANCE, "-n", 12, "--temp", 0)
    out, _ = tenon("run", "--socket", daemon().path, "-m", "m", "-p", FRANCE, "-n", 12, "--temp", 0)
    assert out == alone, (out, alone)
    chat, _ = tenon("run", "--socket", daemon().path, "-m", "m", "-p", "Say hello.", "-n", 12, "--temp", 0, "--chat")
    local, _ = tenon("run", "-m", model("smollm2"), "-p", "Say hello.", "-n", 12, "--temp", 0, "--chat")
    assert chat == local and chat, (chat, local)


@case
def raw_frames():
    line = json.dumps({"type": "PING", "request": 5, "payload": {"opaque": 9}})
    frames, _ = run(sys.executable, "-m", "tenon.raw", stdin=line.encode(),
                    environment={"PYTHONPATH": os.path.join(TOP, "src", "client", "python")})
    out, _ = tenon("raw", "--socket", daemon().path, stdin=frames)
    replies = [json.loads(one) for one in out.splitlines()]
    assert any(r["type"] == "PONG" and r["payload"]["opaque"] == 9 for r in replies), out


@case
def python_client():
    import tenon as client_library      # pylint: disable=import-outside-toplevel
    wanted, _ = tenon("run", "-m", model("smollm2"), "-p", FRANCE, "-n", 12, "--temp", 0)
    with client_library.Client(daemon().path) as client:
        text = "".join(event.text for event in client.generate(FRANCE, max_tokens=12) if hasattr(event, "text"))
        assert text.encode() == wanted.rstrip(b"\n"), (text, wanted)
        chat = client.chat([{"role": "user", "content": "Say hello."}], max_tokens=12).text
        local, _ = tenon("run", "-m", model("smollm2"), "-p", "Say hello.", "-n", 12, "--temp", 0, "--chat")
        assert chat.encode() == local.rstrip(b"\n"), (chat, local)


@case
def nothing_is_left():
    """After all of this the shared daemon holds no request, no block, no descriptor too many, and ends with 0."""
    if not _shared:
        raise Skip("no daemon was started")
    with daemon().peer() as p:
        settle(p)
        c = p.counters()
        assert c["requests_parked"] == 0 and c["connections"] <= 2, c
    assert daemon().stop() == 0, daemon().said()[-2000:]


main()
