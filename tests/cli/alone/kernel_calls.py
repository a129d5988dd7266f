"""Calls of the kernel that Python 3.11 has no names for. In a child before exec(); errors are raised."""

import ctypes
import errno
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)

NEW_TIME, NEW_MOUNTS, NEW_HOST_NAME = 0x80, 0x20000, 0x4000000
NEW_USERS, NEW_PIDS, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
READ_ONLY, BIND, RECURSIVE, PRIVATE = 1, 4096, 16384, 1 << 18
DETACH = 2
SET_NO_NEW_PRIVILEGES, SET_SECCOMP, SECCOMP_FILTER = 38, 22, 2
DROP_BOUNDING, SET_TIMER_SLACK, SET_DUMPABLE = 24, 29, 4
MOUNT_SETATTR = 442
AT_WORKING_FOLDER, AT_RECURSIVE = -100, 0x8000
SYSCALLS = {"fork": (56, 57, 58), "clone3": (435,), "socketpair": (53,), "socket": (41,),
            "signalfd": (282, 289), "pidfd_open": (434,), "pipe": (22, 293), "epoll": (213, 291),
            "prctl": (157,), "statx": (332,), "eventfd": (284, 290), "flock": (73,),
            "memfd_create": (319,), "setsid": (112,), "chdir": (80,), "fsync": (74, 75),
            "sched_setaffinity": (203,), "prlimit": (302,), "fcntl": (72,),
            "kill": (62,), "getrandom": (318,), "mkdir": (83, 258)}


def checked(result):
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def prctl(*numbers):
    checked(LIBC.prctl(*(ctypes.c_ulong(number) for number in numbers)))


def unshare(flags):
    checked(LIBC.unshare(flags))


def mount(what, where, kind=None, flags=0, options=None):
    words = [None if word is None else os.fsencode(word) for word in (what, where, kind)]
    checked(LIBC.mount(*words, ctypes.c_ulong(flags), options and options.encode()))


def own_mounts():
    unshare(NEW_MOUNTS)
    mount("none", "/", None, RECURSIVE | PRIVATE)


def make_all_read_only():
    attributes = struct.pack("=4Q", READ_ONLY, 0, 0, 0)
    checked(LIBC.syscall(MOUNT_SETATTR, AT_WORKING_FOLDER, b"/", AT_RECURSIVE, attributes, 32))


def set_host_name(name):
    unshare(NEW_HOST_NAME)
    checked(LIBC.sethostname(name, len(name)))


def refuse(numbers, error=errno.EPERM):
    """A filter that lets these system calls fail."""
    load, equal, answer = 0x20, 0x15, 0x06
    lines = [struct.pack("HBBI", load, 0, 0, 0)]
    for at, number in enumerate(numbers):
        lines.append(struct.pack("HBBI", equal, len(numbers) - at, 0, number))
    lines.append(struct.pack("HBBI", answer, 0, 0, 0x7FFF0000))
    lines.append(struct.pack("HBBI", answer, 0, 0, 0x50000 | error))
    code = ctypes.create_string_buffer(b"".join(lines))
    program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code)))
    prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    prctl(SET_SECCOMP, SECCOMP_FILTER, ctypes.addressof(program), 0, 0)
