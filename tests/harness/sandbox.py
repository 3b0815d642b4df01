# SPDX-License-Identifier: Apache-2.0
"""Hosts that forbid things, made on this one: system calls that fail, few CPUs, another user, small limits."""
import ctypes
import errno
import os
import resource
import struct

IO_URING_SETUP, IO_URING_REGISTER, MBIND, SET_MEMPOLICY, MOVE_PAGES = 425, 427, 237, 238, 279     # x86-64
MLOCK, MLOCK2 = 149, 325

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
PR_CAPBSET_DROP, CAP_IPC_LOCK = 24, 14
LOAD_NUMBER, EQUAL, RETURN = 0x20, 0x15, 0x06           # BPF: ld [0], jeq k, ret k
ALLOW, FAIL = 0x7FFF0000, 0x00050000


def deny(*calls, code=errno.EPERM):
    """For preexec_fn: these system calls fail with `code`, as in a container that forbids them."""
    program = [(LOAD_NUMBER, 0, 0, 0)]
    for i, number in enumerate(calls):
        program.append((EQUAL, len(calls) - i, 0, number))
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, FAIL | code)]
    code_bytes = b"".join(struct.pack("<HBBI", *line) for line in program)

    def apply():
        libc = ctypes.CDLL(None, use_errno=True)
        text = ctypes.create_string_buffer(code_bytes, len(code_bytes))
        filter_ = struct.pack("<H6xQ", len(program), ctypes.addressof(text))
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
    return apply


def on_cpus(*cpus):
    return lambda: os.sched_setaffinity(0, cpus)


def little_memlock(memlock_bytes):
    """For preexec_fn, as root: a limit on locked memory that holds, as it does for an ordinary user."""
    def apply():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (memlock_bytes, memlock_bytes))
    return apply


def as_nobody():
    """For preexec_fn, as root: user and group 65534, no further groups."""
    def apply():
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    return apply


def anyone_reaches(path):
    """Whether other users may pass through every directory above `path`."""
    while path != "/":
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & 0o001:
            return False
    return True
