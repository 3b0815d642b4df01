# SPDX-License-Identifier: Apache-2.0
"""The pools of 2 MiB pages: read, and changed for the time of a test by those who may."""
import contextlib
import glob
import os
import time

from cases import Skip

POOLS = "/sys/devices/system/node/node*/hugepages/hugepages-2048kB"


def read(name):
    """Sum over the nodes of nr_hugepages, free_hugepages, surplus_hugepages."""
    total = 0
    for pool in glob.glob(POOLS):
        with open(os.path.join(pool, name), encoding="ascii") as f:
            total += int(f.read())
    return total


def first_pool():
    pools = sorted(glob.glob(POOLS))
    if not pools:
        raise Skip("this kernel has no 2 MiB pages")
    return os.path.join(pools[0], "nr_hugepages")


def _write(path, value):
    try:
        with open(path, "w", encoding="ascii") as f:
            f.write(str(value))
    except PermissionError:
        raise Skip("only root changes the pool of huge pages") from None


@contextlib.contextmanager
def at_least(free, or_fewer=False):
    """Raises the first node's pool until `free` pages are free; what was added is given back.

    Where the kernel gives fewer, the case is skipped, or goes on with them.
    """
    path = first_pool()
    with open(path, encoding="ascii") as f:
        before = int(f.read())
    with open(path.replace("nr_hugepages", "free_hugepages"), encoding="ascii") as f:
        added = max(0, free - int(f.read()))
    if added:
        _write(path, before + added)
    try:
        with open(path.replace("nr_hugepages", "free_hugepages"), encoding="ascii") as f:
            if int(f.read()) < free and not or_fewer:
                raise Skip(f"the kernel does not give {free} pages of 2 MiB")
        yield
    finally:
        if added:
            with open(path, encoding="ascii") as f:
                _write(path, max(0, int(f.read()) - added))


@contextlib.contextmanager
def taken():
    """No page of the pools is free meanwhile: they are held by a mapping of ours, the pools stay as they are."""
    import mmap     # pylint: disable=import-outside-toplevel
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000      # MAP_HUGETLB
    held = None
    for _ in range(100):        # some that are free may be promised to others, who take or leave them soon
        free = read("free_hugepages")
        try:
            held = mmap.mmap(-1, free << 21, flags=flags) if free else None
            break
        except OSError:
            time.sleep(0.05)
    else:
        raise Skip("others take and leave huge pages at the same time")
    if held is not None:
        for at in range(0, free << 21, 1 << 21):
            held[at] = 1
    try:
        yield
    finally:
        if held is not None:
            held.close()
