#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tenond as its clients and its administrator meet it: a generated model, the real engine, the Python client."""
import array
import concurrent.futures
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "src", "client", "python"))
from cases import BUILD, TENOND, Skip, case, main, model, need_program, run, temporary, within
from sandbox import IO_URING_SETUP, deny
from tenon import client as tenon
from tenon import codec
from tenon import wire_gen as w

RANDOM_MODEL = os.path.join(BUILD, "tests", "harness", "random_model")
QUICK = ["--context", "2048", "--sequences", "8", "-t", "2", "--stall-timeout", f"{within(30):.0f}s"]


def make_model(folder, *settings):
    path = os.path.join(folder, "random.gguf")
    run(need_program(RANDOM_MODEL), path, "llama", "1", *settings)
    return path


def no_config(folder):
    """An empty file, so that what this host has under /etc does not matter."""
    path = os.path.join(folder, "empty.conf")
    with open(path, "wb"):
        return path


class Daemon:
    """A tenond in a folder of its own; leaving the block ends it by SIGTERM and expects exit code 0."""

    def __init__(self, *options, model_file="", environment=None, before=None, fds=(), wait=True):
        self.folder = temporary()
        self.here = self.folder.name
        self.path = os.path.join(self.here, "s")
        self.admin_path = os.path.join(self.here, "a")
        self.model = model_file or make_model(self.here)
        self.log_path = os.path.join(self.here, "log")
        self.over = False
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [need_program(TENOND), "--config", no_config(self.here), "--model", f"m={self.model}", "--socket", self.path, "--admin-socket",
                 self.admin_path, *QUICK, *options],
                stderr=log, env={**os.environ, **(environment or {})}, preexec_fn=before, pass_fds=fds)
        if wait:
            self.wait()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait(self, seconds=60):
        deadline = time.monotonic() + within(seconds)
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"tenond ended with {self.process.returncode}:\n{self.log()}")
            try:
                with self.client() as c:
                    if c.models()[0]["state"] == w.MODEL_STATE_READY:
                        return
            except tenon.Failure:
                pass
            time.sleep(0.02)
        raise AssertionError(f"not ready within {seconds} s:\n{self.log()}")

    def client(self, **options):
        return tenon.Client(self.path, timeout=within(30), **options)

    def ended(self, expect=0):
        """It has been told to end: waits, and looks how it did."""
        code = self.process.wait(within(60))
        assert code == expect, f"ended with {code}, not {expect}:\n{self.log()}"
        self.over = True
        for path in (self.path, self.admin_path):
            assert not os.path.exists(path), f"{path} is still there"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None and not self.over:
                assert self.process.poll() is None, f"tenond ended with {self.process.returncode}:\n{self.log()}"
                self.process.send_signal(signal.SIGTERM)
                self.ended()
        finally:
            self.process.kill()
            self.process.wait()
            self.folder.cleanup()

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(condition, seconds=20, what="that"):
    deadline = time.monotonic() + within(seconds)
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come about within {seconds} s"
        time.sleep(0.01)


def idle(client):
    s = client.stats()
    return s["requests_running"] == s["requests_waiting"] == s["requests_parked"] == s["kv_blocks_used"] == 0


def unread(client):
    """A request that cannot end before it is read: its frames are more than the socket takes (600 KB)."""
    return client.submit("x", max_tokens=1900, ignore_eos=True, logprobs=20)


def uses_up(request, credits):
    """As many tokens come as there are credits, and then nothing."""
    got = 0
    while got < credits:
        event = request.next(10)
        got += len(event.tokens) if isinstance(event, tenon.Tokens) else 0
    assert got == credits, f"{got} tokens for {credits} credits"
    try:
        request.next(0.3)
        raise AssertionError("tokens beyond the credits")
    except TimeoutError:
        pass


def refused(code, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except tenon.Failure as failure:
        assert failure.code == code, f"{failure.name}: {failure}, not {w.ERRORS[code][0]}"
        return failure
    raise AssertionError(f"not refused with {w.ERRORS[code][0]}")


def try_ping(path):
    try:
        with tenon.Client(path, timeout=5) as c:
            return c.ping() >= 0
    except tenon.Failure:
        return False


@case
def streams_and_their_parts():
    with Daemon() as d, d.client() as c:
        request = c.submit("the quick brown fox", max_tokens=40, temperature=0.8, seed=11, logprobs=3)
        events = list(request)
        started, done = events[0], events[-1]
        tokens = [t for e in events[1:-1] for t in e.tokens]
        assert started.seed == 11 and started.prompt_tokens > 1
        assert done.reason in ("length", "eos") and len(tokens) == done.generated_tokens <= 40
        assert all(t.logprob <= 0 and len(t.alternatives) == 3 for t in tokens)
        assert all(a[1] >= b[1] for t in tokens for a, b in zip(t.alternatives, t.alternatives[1:]))
        streamed = b"".join(t.text for t in tokens) + done.data
        assert streamed == c.complete("the quick brown fox", max_tokens=40, temperature=0.8, seed=11).data
        assert streamed == c.detokenize([t.id for t in tokens])
        ids, _ = c.tokenize("the quick brown fox")
        assert len(ids) == started.prompt_tokens
        assert streamed == c.complete([tenon.ids(ids)], max_tokens=40, temperature=0.8, seed=11).data
        assert streamed != c.complete([tenon.ids(ids)], max_tokens=40, temperature=0.8, seed=12).data
        assert c.detokenize([]) == b"" and len(c.tokenize("")[0]) <= 1
        counted = c.stats()
        assert counted["requests_total"] == 4
        until(lambda: idle(c))


@case
def greedy_has_log_probabilities():
    with Daemon() as d, d.client() as c:
        events = list(c.submit("x", max_tokens=10, logprobs=2, ignore_eos=True))
        for token in (t for e in events if isinstance(e, tenon.Tokens) for t in e.tokens):
            assert token.alternatives[0] == (token.id, token.logprob) and token.logprob < 0


@case
def no_limit_ends_with_the_context():
    with Daemon("--context", "256") as d, d.client() as c:
        done = c.complete("x", ignore_eos=True)
        assert done.reason == "length" and done.prompt_tokens + done.generated_tokens == 256


@case
def stop_strings_over_tokens():
    """Every cut of the answer as a stop string: what comes before it, never a byte of it."""
    with Daemon() as d, d.client() as c:
        whole = c.complete("abc", max_tokens=24, ignore_eos=True).data
        for size in (1, 2, 3, 5):
            for at in range(0, len(whole) - size, 3):
                stop = whole[at:at + size]
                try:
                    stop.decode()
                except UnicodeDecodeError:
                    continue
                done = c.complete("abc", max_tokens=24, ignore_eos=True, stop=[stop])
                assert done.data == whole[:whole.index(stop)] and done.reason == "stop", (whole, stop, done)


@case
def hundred_clients_each_as_alone():
    prompts = [f"client {i} asks {'again ' * (i % 7)}" for i in range(100)]
    options = {"max_tokens": 12, "temperature": 0.7, "ignore_eos": True}
    with Daemon("--connections-per-user", "200") as d:
        with d.client() as c:
            alone = [c.complete(p, seed=i, **options).data for i, p in enumerate(prompts)]

        def one(i):
            with d.client() as c:
                return c.complete(prompts[i], seed=i, **options).data

        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            together = list(pool.map(one, range(100)))
        assert together == alone
        with d.client() as c:
            until(lambda: idle(c))


@case
def cancel_and_vanish():
    with Daemon() as d, d.client() as c:
        request = c.submit("x", max_tokens=2000, ignore_eos=True)
        for event in request:
            if isinstance(event, tenon.Tokens):
                request.cancel()
                break
        assert list(request)[-1].reason == "cancelled"
        until(lambda: idle(c), what="a freed sequence")
        lost = [d.client() for _ in range(4)]
        for one in lost:
            for _ in range(4):
                one.submit("y" * 50, max_tokens=2000, ignore_eos=True)
        until(lambda: c.stats()["requests_waiting"] > 0)
        for one in lost:
            one.close()
        begun = time.monotonic()
        until(lambda: idle(c), what="sequences freed of clients that went away")
        assert time.monotonic() - begun < within(5)
        assert c.complete("z", max_tokens=3, ignore_eos=True).generated_tokens == 3


@case
def vanish_while_a_prompt_is_read():
    with Daemon("--prefill-chunk", "1") as d, d.client() as c:
        for _ in range(5):              # a prompt may be read before anyone looks
            before = c.stats()["steps_total"]
            with d.client() as lost:
                lost.submit([tenon.ids([5] * 2000)], max_tokens=5)
                until(lambda: c.stats()["steps_total"] > before, what="a prompt being read")
            until(lambda: idle(c), 5, what="a freed sequence")
            steps = c.stats()["steps_total"] - before
            if steps < 2000:
                return
        raise AssertionError(f"{steps} of 2000 steps were done for a client that had gone")


@case
def answers_while_loading():
    """Models load one after the other: the last one is waited for long enough to talk meanwhile."""
    file = model("smollm2")
    more = [word for i in range(3) for word in ("--model", f"m{i}={file}")]
    with Daemon("--context", "128", *more, model_file=file, wait=False) as d:
        worst = refusals_seen = 0
        until(lambda: os.path.exists(d.path))
        with d.client() as c:
            ready = False
            while not ready:
                begun = time.monotonic()
                c.ping()
                ready = c.models()[-1]["state"] == w.MODEL_STATE_READY
                worst = max(worst, time.monotonic() - begun)
                try:
                    c.complete("x", "m2", max_tokens=1, ignore_eos=True)
                except tenon.Failure as failure:
                    assert failure.code == w.E_LOADING and 0 <= failure.detail < 100 and failure.retry_after_ms
                    refusals_seen += 1
        print(f"  {refusals_seen} refusals with LOADING; ping and list in at most {worst * 1000:.1f} ms")
        assert refusals_seen and worst < within(1)


@case
def progress_on_a_terminal():
    ours, its = os.openpty()
    with temporary() as here:
        words = [need_program(TENOND), "--model", f"m={make_model(here)}", "--socket", os.path.join(here, "s"), "-t", "2"]
        with subprocess.Popen(words, stderr=its) as process:
            os.close(its)
            said = b""
            while b"serving 1 model" not in said:
                said += os.read(ours, 4096)
            process.terminate()
            assert process.wait(20) == 0
        os.close(ours)
    assert b"loading m: 100 %" in said and b"GB/s" in said and b"s left)" in said, said
    assert b"<5>" not in said, "priorities are for the journal"


@case
def slow_reader_is_parked():
    with Daemon() as d, d.client() as slow, d.client() as quick:
        alone = quick.complete("x", max_tokens=1900, ignore_eos=True, logprobs=20).data
        request = unread(slow)
        until(lambda: quick.stats()["requests_parked"] == 1, what="a parked request")
        assert quick.complete("quick", max_tokens=50, ignore_eos=True).generated_tokens == 50
        assert quick.stats()["requests_parked"] == 1
        assert request.join().data == alone
        until(lambda: idle(quick))


@case
def readers_without_credit_keep_nobody_out():
    """As many as run at once, each with the whole context reserved, wait for credit: others are served meanwhile."""
    with Daemon("--context", "384") as d, d.client() as slow, d.client() as quick:
        alone = quick.complete("x", max_tokens=60, ignore_eos=True).data
        held = [slow.submit("x", ignore_eos=True, credits=1) for _ in range(8)]
        until(lambda: quick.stats()["requests_parked"] == 8, what="eight parked requests")
        assert quick.complete("y", ignore_eos=True, max_tokens=300).generated_tokens == 300
        assert quick.stats()["requests_parked"] == 8
        for request in held:
            request.grant(10_000)
        assert all(r.join().data[:len(alone)] == alone for r in held)
        until(lambda: idle(quick))


@case
def credits_bind_on_a_full_connection():
    """Requests of a connection whose replies pile up are parked before they run, and are answered when it is read."""
    with Daemon() as d, d.client() as c, d.client() as quick:
        alone = quick.complete("x", max_tokens=1900, ignore_eos=True, logprobs=20).data
        many = [unread(c) for _ in range(10)]           # more than there are seats
        until(lambda: quick.stats()["requests_parked"] >= 8, what="parked requests")
        late = c.submit("x", max_tokens=300, ignore_eos=True, credits=1)
        time.sleep(0.3)
        assert quick.complete("y", max_tokens=20, ignore_eos=True).generated_tokens == 20
        assert all(r.join().data == alone for r in many)
        uses_up(late, 1)
        late.grant(1000)
        assert late.join().generated_tokens == 300
        until(lambda: idle(quick))


@case
def stalled_reader_is_cancelled():
    with Daemon("--stall-timeout", "500ms") as d, d.client() as slow, d.client() as quick:
        request = unread(slow)
        until(lambda: quick.stats()["requests_parked"] == 1, what="a parked request")
        until(lambda: idle(quick), what="the end of a stalled request")
        assert request.join().reason == "cancelled"
        assert slow.complete("again", max_tokens=2, ignore_eos=True).generated_tokens == 2


@case
def credits_and_deadlines():
    with Daemon() as d, d.client() as c:
        request = c.submit("x", max_tokens=20, ignore_eos=True, credits=5)
        uses_up(request, 5)
        request.grant(100)
        assert request.join().generated_tokens == 20
        assert c.submit("x", ignore_eos=True, credits=1, deadline_ms=200).join().reason == "deadline"


@case
def long_prompts():
    """A text beyond one frame goes by memfd; one that cannot fit is refused at once; others do not wait for it."""
    with Daemon() as d, d.client() as c, d.client() as other:
        text = "all work and no play " * 100000                  # 2.1 MB
        ids, offsets = c.tokenize(text)
        assert len(ids) > 100000 and offsets[-1] < len(text)
        first = 1 if c.model_info()["flags"] & w.FLAG_MODEL_ADD_BOS else 0
        back = b"".join(c.detokenize(ids[i:i + 200000]) for i in range(first, len(ids), 200000))
        assert back == text.encode()
        assert refused(w.E_CONTEXT_TOO_LONG, c.complete, text).detail == c.model_info()["context"]
        ids, _ = c.tokenize(text[:6000])
        assert c.complete([tenon.ids(ids[:1500])], max_tokens=2, ignore_eos=True).generated_tokens == 2
        worst = 0
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            begun = time.monotonic()
            busy = pool.submit(c.tokenize, text)
            while not busy.done():
                worst = max(worst, other.ping())
            took = time.monotonic() - begun
        print(f"  ping while a text of {len(text)} bytes is tokenised in {took:.1f} s: at most {worst * 1000:.1f} ms")
        assert worst < max(took / 2, 0.1)


@case
def refusals():
    with Daemon() as d, d.client() as c:
        refused(w.E_NOT_FOUND, c.complete, "x", "other")
        refused(w.E_INVALID, c.complete, "")
        refused(w.E_INVALID, c.complete, [tenon.ids([10**9])])
        refused(w.E_UNSUPPORTED, c.complete, "x", grammar="root ::= x")
        refused(w.E_UNSUPPORTED, c.complete, "x", logit_bias={1: 2.0})
        refused(w.E_UNSUPPORTED, c.complete, "x", priority=200)
        assert c.complete("x", priority=128, max_tokens=1, ignore_eos=True).generated_tokens == 1
        refused(w.E_UNSUPPORTED, c.score, "x y z")
        refused(w.E_PERMISSION, c.call, "DRAIN", {"deadline_ms": 1})
        refused(w.E_CONTEXT_TOO_LONG, c.complete, [tenon.ids([1] * 3000)])
        assert c.complete("x", max_tokens=1, ignore_eos=True).generated_tokens == 1


def raw_connection(d):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(10)
    s.connect(d.path)
    return s


def hello():
    return codec.encode("HELLO", {"version_min": 1, "version_max": 1, "client": "raw", "max_frame": 0,
                                  "capabilities": 0}, 0)


def all_of(s):
    """What the server says until it closes."""
    data = b""
    try:
        while chunk := s.recv(1 << 16):
            data += chunk
    except ConnectionError:
        pass
    return data


@case
def broken_frames():
    """Frames of every kind that is wrong, and noise: the daemon answers or hangs up, and goes on."""
    good = codec.encode("GENERATE", {
        "model": "", "segments": [{"kind": 1, "data": "hello"}], "max_tokens": 1, "temperature": 0.0, "top_p": 1.0,
        "min_p": 0.0, "typical_p": 1.0, "repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0,
        "repeat_last_n": 0, "top_k": 0, "seed": 0, "n_logprobs": 0, "credits": 0, "deadline_ms": 0, "flags": 0,
        "stop_strings": ["stop"]}, 7)
    dice = random.Random(5)
    with Daemon() as d:
        before = d.fds()
        for kind in range(300):
            with raw_connection(d) as s:
                try:
                    if kind % 3 == 0:
                        s.sendall(dice.randbytes(dice.randrange(1, 200)))
                    else:
                        frame = bytearray(good)
                        for _ in range(dice.randrange(1, 6)):
                            frame[dice.randrange(len(frame))] = dice.choice((0, 1, 0x7f, 0x80, 0xff, dice.randrange(256)))
                        s.sendall(hello() + bytes(frame))
                    s.shutdown(socket.SHUT_WR)
                    all_of(s)
                except (BrokenPipeError, ConnectionResetError):
                    pass
        with d.client() as c:
            assert c.complete("x", max_tokens=1, ignore_eos=True).generated_tokens == 1
            until(lambda: idle(c))
            assert c.stats()["framing_errors_total"] > 50
        until(lambda: d.fds() <= before, what=f"{before} descriptors again")


@case
def descriptors_do_not_leak():
    def send(s, frame, count):
        files = [open("/dev/null", "rb") for _ in range(count)]
        socket.send_fds(s, [frame], [f.fileno() for f in files])
        for f in files:
            f.close()

    with Daemon() as d:
        with d.client() as c:
            c.ping()
        before = d.fds()
        for i in range(200):
            with raw_connection(d) as s:
                try:                    # those before it may not be forgotten yet: then it is one too many
                    s.sendall(hello())
                    send(s, codec.encode("PING", {"opaque": 1}, 1, nfds=i % 5), i % 7)
                    send(s, codec.encode("TOKENIZE", {"model": "", "segments": [{"kind": 4, "fd": i % 4, "data": ""}],
                                                      "flags": 0}, 2, nfds=2), 2)
                except (BrokenPipeError, ConnectionResetError):
                    pass
        until(lambda: d.fds() <= before, what=f"{before} descriptors again")


@case
def limits_on_purpose():
    with Daemon("--connections-per-user", "4", "--requests-per-connection", "3", "--queue", "5") as d:
        four = [d.client() for _ in range(4)]
        refused(w.E_LIMIT, d.client)
        for _ in range(3):
            four[0].submit("x", max_tokens=1500, ignore_eos=True)
        refused(w.E_LIMIT, four[0].complete, "x")
        for _ in range(2):
            four[1].submit("x", max_tokens=1500, ignore_eos=True)
        busy = refused(w.E_BUSY, four[2].complete, "x")
        assert busy.retry_after_ms >= 100
        four[3].ping()
        for c in four:
            c.close()
        until(lambda: try_ping(d.path), what="a place for another connection")
        with d.client() as c:
            until(lambda: idle(c))


@case
def idle_costs_nothing():
    with Daemon() as d:
        clients = [d.client() for _ in range(8)]
        clients[0].complete("x", max_tokens=5, ignore_eos=True)
        time.sleep(0.5)
        before = d.cpu_seconds()
        time.sleep(3)
        used = d.cpu_seconds() - before
        assert used <= 0.011, f"{used} s of CPU in 3 s of doing nothing"
        for c in clients:
            c.close()


@case
def metrics_are_well_formed():
    with Daemon() as d, d.client() as c:
        c.complete("x", max_tokens=5, ignore_eos=True)
        families, values = {}, {}
        for line in c.metrics().splitlines():
            if line.startswith("# TYPE "):
                families[line.split()[2]] = line.split()[3]
            elif not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        for name in values:
            stem = name.split("{")[0]
            for suffix in ("_bucket", "_sum", "_count"):
                stem = stem[:-len(suffix)] if stem.endswith(suffix) and stem[:-len(suffix)] in families else stem
            assert stem in families, name
            assert not name.endswith("_total") or families[stem] == "counter", name
        assert values['tenon_generation_tokens_total{model="m"}'] == 5
        assert values['tenon_requests_total{model="m",reason="length",code=""}'] == 1
        assert values["process_open_fds"] == d.fds()
        assert values['tenon_level_selftest_failures_total{model="m"}'] == 0
        assert any(n.startswith('tenon_kernel_info{model="m",type="') and "matmul_" in n for n in values), values


@case
def drain_finishes_and_refuses():
    with Daemon("--drain-timeout", "10min") as d, d.client() as c:
        request = unread(c)
        assert isinstance(request.next(10), tenon.Started)
        d.process.send_signal(signal.SIGTERM)
        until(lambda: "no new requests" in d.log())
        refused(w.E_DRAINING, c.complete, "y")
        refused(w.E_DRAINING, d.client)         # one that comes now is told, not left in a queue
        done = request.join()
        assert done.reason == "length" and done.generated_tokens == 1900 and c.leaving
        d.ended()


@case
def second_signal_ends_at_once():
    with Daemon() as d, d.client() as c:
        unread(c).next(10)
        d.process.send_signal(signal.SIGTERM)
        until(lambda: "no new requests" in d.log())
        begun = time.monotonic()
        d.process.send_signal(signal.SIGINT)
        d.ended(1)
        assert time.monotonic() - begun < within(2)


@case
def drain_by_an_administrator():
    with Daemon() as d, tenon.Client(d.admin_path, timeout=30) as admin:
        assert admin.call("LOG_LEVEL", {"level": 7})[0]["previous"] == 6
        refused(w.E_UNSUPPORTED, admin.call, "RELOAD")
        admin.call("DRAIN", {"deadline_ms": 0})
        d.ended()


@case
def ways_not_to_start():
    with temporary() as here:
        path, good = os.path.join(here, "s"), make_model(here)

        def fails(code, *options, words=""):
            _, said = run(need_program(TENOND), "--socket", path, *options, expect=code)
            assert words.encode() in said, said

        fails(2, "--no-such-option")
        fails(2, "--model", "a=b", "extra")
        fails(2, "--threads", "many", words="--threads")
        fails(2, "--mmap", words="refused")
        fails(2, "--model", f"a={good}", "--model", f"a={good}", words="two models")
        fails(78, "--config", no_config(here), words="no model")
        fails(78, "--model", "a=/nowhere.gguf", words="/nowhere.gguf")
        fails(78, "--config", "/nowhere.conf", words="/nowhere.conf")
        with open(good, "rb") as whole, open(os.path.join(here, "bad"), "wb") as f:
            f.write(whole.read()[:-5000])
        fails(78, "--model", f"a={f.name}", words="model a")
        fails(78, "--model", f"good={good}", "--model", f"a={f.name}", words="model a")
        fails(78, "--model", f"a={here}", words="directory")
        for file in (f.name, here, no_config(here), "/dev/null"):
            fails(78, "--model", f"a={file}", "--check-config", words="model a")
        fails(78, "--model", f"a={good}", "--check-config", "--socket-group", "no-such-group", words="no-such-group")
        fails(78, "--model", f"a={good}", "--check-config", "--socket", "/nowhere/s", words="/nowhere/")
        fails(78, "--model", f"a={good}", "--check-config", "--socket", "/" + 200 * "x", words="201 bytes")
        fails(78, "--model", f"a={good}", "--check-config", "--socket", good, words="not a socket")
        fails(78, "--model", f"a={good}", "--socket", good, words="not a socket")
        with open(os.path.join(here, "conf"), "w", encoding="ascii") as f:
            f.write(f"[server]\nsocket = {path}\nsokcet-mode = 0600\n[model a]\nfile = {good}\n")
        out, said = run(TENOND, "--config", f.name, "--check-config")
        assert b"in order: 1 model" in out and b"conf:3: [server] knows no sokcet-mode; did you mean socket-mode?" in said
        with open(f.name, "a", encoding="ascii") as f:
            f.write("[compute]\nthreads = x\n")
        fails(78, "--config", f.name, "--check-config", words="conf:7: threads")
        assert not os.path.exists(path)


@case
def sockets_of_others():
    """A socket that a crash left is replaced; one that a daemon serves is not, nor is a file."""
    with Daemon() as d:
        _, said = run(TENOND, "--model", f"m={d.model}", "--socket", d.path, expect=69)
        assert d.path.encode() in said
        with d.client() as c:
            c.ping()
        copy = os.path.join(d.here, "copy.gguf")
        os.link(d.model, copy)
        stale = os.path.join(d.here, "stale")
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(stale)
        other = subprocess.Popen([TENOND, "--model", f"m={copy}", "--socket", stale, *QUICK], stderr=subprocess.DEVNULL)
        try:
            until(lambda: try_ping(stale), what="a daemon on the stale socket")
            assert os.stat(stale).st_mode & 0o777 == 0o660
        finally:
            other.terminate()
            assert other.wait(20) == 0
        _, said = run(TENOND, "--model", f"m={d.model}", "--socket", d.log_path, expect=78)
        assert b"socket" in said and os.path.isfile(d.log_path)


@case
def service_manager():
    """Sockets passed by LISTEN_FDS, READY=1 and the watchdog by NOTIFY_SOCKET."""
    with temporary() as here:
        path, told_path, file = os.path.join(here, "s"), os.path.join(here, "n"), make_model(here)
        with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            listener.bind(path)
            listener.listen()
            told.bind(told_path)
            told.settimeout(20)
            words = [need_program(TENOND), "--model", f"m={file}", "-t", "2"]
            manager = (f"import os; os.dup2({listener.fileno()}, 3); os.environ['LISTEN_PID'] = str(os.getpid())\n"
                       f"os.execv({words[0]!r}, {words!r})")
            early = tenon_early(path)
            process = subprocess.Popen([sys.executable, "-c", manager], pass_fds=[listener.fileno()],
                                       stderr=subprocess.DEVNULL,
                                       env={**os.environ, "NOTIFY_SOCKET": told_path, "WATCHDOG_USEC": "600000",
                                            "LISTEN_FDS": "1", "LISTEN_FDNAMES": "tenon.socket"})
            try:
                said = b""
                while b"READY=1" not in said:
                    said = told.recv(4096)
                assert b"STATUS=Serving 1 model" in said
                beats = 0
                begun = time.monotonic()
                while beats < 5:
                    beats += told.recv(4096) == b"WATCHDOG=1"
                assert time.monotonic() - begun < 5
                early.sendall(codec.encode("PING", {"opaque": 1}, 1))       # connected before there was a daemon
                assert early.recv(4096)
                early.close()
                process.terminate()
                while b"STOPPING=1" not in told.recv(4096):
                    pass
                assert process.wait(20) == 0
                assert os.path.exists(path), "a passed socket belongs to the service manager"
            finally:
                process.kill()
                process.wait()


def tenon_early(path):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(path)
    s.sendall(hello())
    return s


@case
def two_models():
    with temporary() as here:
        other = os.path.join(here, "other.gguf")
        run(need_program(RANDOM_MODEL), other, "qwen3", "9")
        with Daemon("--model", f"other={other}") as d, d.client() as c:
            assert [m["id"] for m in c.models()] == ["m", "other"]
            refused(w.E_INVALID, c.complete, "which?")
            a, b = (c.submit("hello", name, max_tokens=8, ignore_eos=True) for name in ("m", "other"))
            texts = [r.join().data for r in (a, b)]
            assert texts == [c.complete("hello", name, max_tokens=8, ignore_eos=True).data for name in ("m", "other")]
            assert texts[0] != texts[1]


@case
def without_io_uring():
    with Daemon(before=deny(IO_URING_SETUP)) as d, d.client() as c:
        assert c.complete("x", max_tokens=3, ignore_eos=True).generated_tokens == 3
        assert "epoll" in d.log()


def as_other_user(function):
    """True when @function does not raise in a child that is user 65534."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            function()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@case
def other_users():
    """The sockets' mode keeps others out; one who may come in has an account of his own."""
    if os.getuid() != 0:
        raise Skip("not root")
    with Daemon("--socket-mode", "0660", "--connections-per-user", "2") as d:
        os.chmod(d.here, 0o755)
        if not as_other_user(lambda: os.stat(d.path)):
            raise Skip("the build folder is closed to others")
        mine = [d.client() for _ in range(2)]
        refused(w.E_LIMIT, d.client)
        assert not as_other_user(d.client)
        os.chmod(d.path, 0o666)
        assert as_other_user(lambda: d.client().complete("x", max_tokens=2, ignore_eos=True))
        for c in mine:
            c.close()


if __name__ == "__main__":
    main()
