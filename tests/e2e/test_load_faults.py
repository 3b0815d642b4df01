#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loading where something is wrong: with the file, or with the host.  A clear error or a step down, never a crash."""
import ctypes
import mmap
import os
import re
import resource
import shutil
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import pages
import sandbox
from cases import Skip, TENON, case, cases_for, generated, main, model, temporary, tenon
from peer import Daemon

PROMPT = "The capital of France is Paris. The capital of Italy is"
WANTED = [b" Rome"]


def answer(path, *options, **how):
    """Four tokens; checks that they are the right ones.  Returns what was said on stderr."""
    out, said = tenon("run", "-m", path, "-p", PROMPT, "-n", 4, "--temp", 0, *options, **how)
    assert any(out.startswith(w) for w in WANTED), out
    return said.decode(errors="replace")


def refused(path, *words, code=1, **how):
    """The file is refused with an error that names it and says one of the words; huge pages are given back."""
    before = pages.read("free_hugepages")
    out, said = tenon("run", "-m", path, "-p", PROMPT, "-n", 4, expect=code, **how)
    text = said.decode(errors="replace")
    assert out == b"", out
    assert os.path.basename(path) in text, text
    assert not words or any(w in text for w in words), text
    assert pages.read("free_hugepages") == before
    return text


def reads_directly(path):
    """None, or why an aligned read past the page cache fails: asked of the kernel, not of the loader."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            return None if os.preadv(fd, [mmap.mmap(-1, 4096)], 0) == 4096 else "a short read"
        finally:
            os.close(fd)
    except OSError as e:
        return e.strerror


def sets_up_a_ring():
    """None, or why the kernel gives no io_uring: switched off, filtered, or too old."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(sandbox.IO_URING_SETUP, 1, ctypes.create_string_buffer(120))
    if fd < 0:
        return os.strerror(ctypes.get_errno())
    os.close(fd)
    return None


@case
def fastest_way_is_taken():
    """Where this file system can read directly, the loader does: io_uring, registered buffers, 32 reads at once."""
    with temporary() as here:
        path = generated(here, "llama", "layers=7", "embedding=1024", "feed_forward=4096", "heads=16", "type=Q8_0")
        refusal = reads_directly(path)
        if refusal:
            raise Skip(f"no direct I/O in the build folder: {refusal}")
        refusal = sets_up_a_ring()
        if refusal:
            raise Skip(f"no io_uring here: {refusal}")
        with Daemon(path) as d:
            d.wait_until("the line that says how it was read", lambda: ", checksum " in d.said(), 5)
            said = d.said()
        way = re.search(r" GB/s; io_uring, O_DIRECT(, registered buffers)?, depth (\d+)\), checksum ", said)
        assert way and int(way[2]) >= 32, said
        if not way[1] and not may_lock(64 << 20):
            raise Skip("may not lock 64 MiB, which registered buffers need; the rest is right")
        assert way[1], said


def may_lock(size):
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return os.geteuid() == 0 or limit == resource.RLIM_INFINITY or limit >= size


@cases_for([4, 1000, 1_500_000, 50_000_000, 98_362_431])
def cut_short(size):
    """Within the magic, the header, the vocabulary, the tensors, by one byte."""
    with temporary() as here:
        path = os.path.join(here, "short.gguf")
        shutil.copyfile(model("smollm2"), path)
        os.truncate(path, size)
        refused(path)


@case
def longer_than_its_tensors():
    """Bytes behind the last tensor harm nobody."""
    with temporary() as here:
        path = os.path.join(here, "long.gguf")
        shutil.copyfile(model("smollm2"), path)
        with open(path, "ab") as f:
            f.write(b"x" * 5000)
        answer(path)


@case
def not_a_model():
    with temporary() as here:
        empty, text = os.path.join(here, "empty.gguf"), os.path.join(here, "text.gguf")
        pipe = os.path.join(here, "pipe.gguf")
        open(empty, "wb").close()
        with open(text, "wb") as f:
            f.write(b"this is no model\n" * 1000)
        os.mkfifo(pipe)
        refused(empty)
        refused(text, "GGUF")
        refused(here)
        refused(pipe, timeout=10)
        refused(os.path.join(here, "missing.gguf"), "No such file", "does not exist", "not found")


@case
def without_permission():
    if os.geteuid() != 0:
        raise Skip("needs root, to become somebody else")
    if not sandbox.anyone_reaches(os.path.abspath(TENON)):
        raise Skip("somebody else may not enter the directory of this checkout")
    with temporary() as here:
        os.chmod(here, 0o755)
        path = os.path.join(here, "secret.gguf")
        shutil.copyfile(model("smollm2"), path)
        os.chmod(path, 0o600)
        refused(path, "ermission", code=77, before=sandbox.as_nobody())


@cases_for(["uring", "preadv"])
def changed_while_loading(io):
    """The file's time of change moves during the load: what was read may be a mixture, so it is not used."""
    with temporary() as here:
        path = os.path.join(here, "moving.gguf")
        shutil.copyfile(model("smollm2"), path)
        done = threading.Event()

        def touch():
            while not done.is_set():
                os.utime(path)
                time.sleep(0.001)

        toucher = threading.Thread(target=touch)
        toucher.start()
        try:
            _, said = tenon("run", "-m", path, "-p", PROMPT, "-n", 4, "--io", io, expect=1)
        finally:
            done.set()
            toucher.join()
        assert b"chang" in said, said


@case
def io_uring_forbidden():
    """As in most containers: the preadv rung is taken, and asking for uring is refused."""
    forbid = sandbox.deny(sandbox.IO_URING_SETUP)
    answer(model("smollm2"), before=forbid)
    _, said = tenon("run", "-m", model("smollm2"), "-p", "x", "-n", 1, "--io", "uring", expect=77, before=forbid)
    assert b"uring" in said, said


@case
def registering_forbidden():
    answer(model("smollm2"), before=sandbox.deny(sandbox.IO_URING_REGISTER))


@case
def binding_forbidden():
    """mbind and set_mempolicy fail: first touch by pinned workers decides, and it is said."""
    said = answer(model("smollm2"), before=sandbox.deny(sandbox.MBIND, sandbox.SET_MEMPOLICY))
    assert "bind" in said or "polic" in said, said


@case
def little_memlock():
    """64 KiB of memlock: nothing can be registered or locked, it is said, and the answer is the same."""
    if os.geteuid() != 0:
        raise Skip("needs root, to give up a capability")
    said = answer(model("smollm2"), before=sandbox.little_memlock(65536))
    assert "regist" in said or "memlock" in said, said


@case
def no_huge_pages():
    """Every page of the pools is taken by others: smaller pages do, and it is said."""
    with pages.taken():
        said = answer(model("smollm2"))
        assert "huge" in said or "2 MiB" in said or "pages" in said, said


@case
def one_cpu():
    answer(model("smollm2"), before=sandbox.on_cpus(sorted(os.sched_getaffinity(0))[-1]))


@case
def more_threads_than_cores():
    """They share cores, with a warning."""
    said = answer(model("smollm2"), "-t", 2 * (os.cpu_count() or 1) + 1)
    assert "core" in said or "thread" in said or "worker" in said, said


@case
def invented_machine():
    answer(model("smollm2"), "--topology", "numa:2 core:2 pu:1")
    answer(model("smollm2"), "--topology", "numa:3 core:1 pu:2", "-t", 3)
    _, said = tenon("run", "-m", model("smollm2"), "-p", "x", "-n", 1, "--topology", "nonsense:x", expect=None)
    assert b"nonsense" in said or b"topology" in said, said


@case
def context_too_small():
    """A prompt that does not fit is refused before anything is computed."""
    _, said = tenon("run", "-m", model("smollm2"), "-p", "word " * 600, "-n", 4, "-c", 128, expect=1)
    assert b"context" in said, said


main()
