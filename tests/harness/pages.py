# SPDX-License-Identifier: Apache-2.0
"""The pools of 2 MiB pages: read, and changed for the time of a test by those who may."""
import contextlib
import glob
import os

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
def at_least(free):
    """Raises the first node's pool until `free` pages are free; what was added is given back."""
    path = first_pool()
    with open(path, encoding="ascii") as f:
        before = int(f.read())
    with open(path.replace("nr_hugepages", "free_hugepages"), encoding="ascii") as f:
        added = max(0, free - int(f.read()))
    if added:
        _write(path, before + added)
    try:
        with open(path.replace("nr_hugepages", "free_hugepages"), encoding="ascii") as f:
            if int(f.read()) < free:
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
    free = read("free_hugepages")
    held = None
    if free:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000      # MAP_HUGETLB
        held = mmap.mmap(-1, free << 21, flags=flags)
        for at in range(0, free << 21, 1 << 21):
            held[at] = 1
    try:
        yield
    finally:
        if held is not None:
            held.close()
