# SPDX-License-Identifier: Apache-2.0
"""A peer of tenond for tests: a daemon that is started and ended, connections that may also misbehave.

It speaks through the Python codec but is no client for others: blocking, plain, with the frames in plain sight.
"""
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time

from cases import TENOND, TOP, Failed, need_program, temporary, within

sys.path.insert(0, os.path.join(TOP, "src", "client", "python"))
from tenon import codec, wire_gen as wire   # pylint: disable=wrong-import-position

READY_SECONDS = 60


class Refused(Exception):
    """An ERROR frame: code and detail of the protocol."""

    def __init__(self, fields):
        super().__init__(f"{wire.ERRORS.get(fields['code'], fields['code'])}: {fields['message']}")
        self.code, self.detail, self.retry_after_ms = fields["code"], fields["detail"], fields["retry_after_ms"]


class Gone(Exception):
    """The other side closed the connection."""


class Peer:
    def __init__(self, path, hello=True, timeout=60):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        self.sock.connect(path)
        self.last = 0
        self.waiting = {}           # frames of other requests, in order of arrival
        if hello:
            self.hello()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def raw(self, data):
        self.sock.sendall(data)

    def send(self, message, fields=None, request=None, **more):
        if request is None:
            self.last += 1
            request = self.last
        self.raw(codec.encode(message, fields or {}, request, **more))
        return request

    def read_exactly(self, size):
        data = b""
        while len(data) < size:
            piece = self.sock.recv(size - len(data))
            if not piece:
                raise Gone()
            data += piece
        return data

    def frame(self):
        """(header, message name, fields) of the next frame, whatever it is."""
        header = codec.decode_header(self.read_exactly(codec.HEADER_BYTES), 1 << 20)
        payload = self.read_exactly(header.length)
        message = codec.find(header, payload)
        return header, message.name if message else None, codec.decode(message, payload) if message else payload

    def next(self, request):
        """The next frame of this request; an ERROR is raised."""
        while not self.waiting.get(request):
            header, name, fields = self.frame()
            self.waiting.setdefault(header.request, []).append((header, name, fields))
        header, name, fields = self.waiting[request].pop(0)
        if name == "ERROR":
            raise Refused(fields)
        return header, name, fields

    def call(self, message, fields=None):
        """All replies of a request, as a list of fields."""
        request, replies = self.send(message, fields), []
        while True:
            header, _, reply = self.next(request)
            replies.append(reply)
            if header.flags & codec.END:
                return replies

    def hello(self):
        self.send("HELLO", {"magic": wire.MAGIC, "version_min": 1, "version_max": wire.VERSION, "client": "tests"}, 0)
        header, name, fields = self.frame()
        if name != "HELLO_OK":
            raise Refused(fields) if name == "ERROR" else Failed(f"{name} instead of HELLO_OK: {header}")
        return fields

    def generate(self, prompt, max_tokens, **fields):
        """Sends GENERATE; prompt is text (trusted) or a list of ids.  Returns the cookie."""
        kind = wire.SEGMENT_KIND_TOKEN_IDS if isinstance(prompt, list) else wire.SEGMENT_KIND_TRUSTED_TEXT
        segments = [{"kind": kind, "data": prompt}]
        return self.send("GENERATE", {"segments": segments, "max_tokens": max_tokens, **fields})

    def answer(self, request):
        """(text, ids, DONE) of a request."""
        text, ids = b"", []
        while True:
            header, name, fields = self.next(request)
            text += fields.get("text", b"") if name in ("TOKENS", "DONE") else b""
            if name == "TOKENS":
                ids += [t["id"] for t in fields["tokens"]]
            if header.flags & codec.END:
                return text, ids, fields

    def ask(self, prompt, max_tokens, **fields):
        return self.answer(self.generate(prompt, max_tokens, **fields))

    def counters(self):
        return self.call("STATS", {"format": wire.STATS_FORMAT_COUNTERS})[0]

    def metrics(self):
        """{name with labels: value} of the Prometheus text."""
        text = "".join(r["text"] for r in self.call("STATS", {"format": wire.STATS_FORMAT_PROMETHEUS}))
        lines = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, value in lines}


class Daemon:
    """tenond on a socket in a folder of its own; `with Daemon(model) as d: d.peer()`."""

    def __init__(self, *models, options=(), before=None, wait=True, path=None):
        self.folder = temporary(prefix="d")
        self.expected = 0                   # exit code that leaving the `with` takes for right
        self.path = path or os.path.join(self.folder.name, "s")
        if len(self.path) > 100:            # a Unix socket's path is short
            self.path = f"/tmp/tenon-test-{os.getpid()}-{random.randrange(10**9)}"
        self.log = open(os.path.join(self.folder.name, "log"), "w+b")   # pylint: disable=consider-using-with
        words = [need_program(TENOND)]
        for i, path in enumerate(models):
            words += ["--model", f"{'m' if len(models) == 1 else f'm{i}'}={path}"]
        words += ["--socket", self.path, *map(str, options)]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        preexec_fn=before)
        if wait:
            self.wait_ready()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        code = self.stop()
        text = self.said()
        self.log.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.folder.cleanup()
        if code != self.expected and sys.exc_info()[0] is None:
            raise Failed(f"tenond ended with {code}\n{text[-2000:]}")

    def said(self):
        self.log.flush()
        with open(self.log.name, "rb") as f:
            return f.read().decode(errors="replace")

    def stop(self, with_signal=signal.SIGTERM, timeout=30):
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
            try:
                self.process.wait(within(timeout))
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise Failed(f"tenond does not end\n{self.said()[-2000:]}") from None
        return self.process.returncode

    def peer(self, **options):
        return Peer(self.path, **options)

    def wait_until(self, what, condition, seconds):
        end = time.monotonic() + within(seconds)
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Failed(f"tenond ended with {self.process.returncode}\n{self.said()[-2000:]}")
            # Reset: the kernel closes what an io_uring of a killed process held a little after its end.
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError, ConnectionResetError, Gone):
                if condition():
                    return
            time.sleep(0.05)
        raise Failed(f"after {within(seconds)} s still not: {what}\n{self.said()[-2000:]}")

    def wait_ready(self):
        def ready():
            with self.peer() as p:
                models = p.call("MODEL_LIST")[0]["models"]
                return all(m["state"] == wire.MODEL_STATE_READY for m in models)
        self.wait_until("all models ready", ready, READY_SECONDS)

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def status(self, key):
        """A line of /proc/PID/status in bytes: VmHWM, VmRSS, HugetlbPages."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii", errors="replace") as f:
            for line in f:
                if line.startswith(key + ":"):
                    return int(line.split()[1]) * 1024
        return 0
