"""What the lab asks of the kernel: ip and tc, entering a namespace, the sysctls and counters in it.

Whoever enters a namespace does so with the calling thread only, and comes back.
"""

import contextlib
import ctypes
import os
import pathlib
import signal
import socket
import subprocess

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
COMMAND_SECONDS = 30


class Failed(Exception):
    """A test does not hold, or the lab could not be built: the text says why."""


class Skipped(Exception):
    """This machine cannot run the test: the text says what it lacks."""


def command(*words):
    """Runs a tool that sets the lab up; its failure is the lab's."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=COMMAND_SECONDS)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def set_namespace(descriptor):
    if LIBC.setns(descriptor, CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


@contextlib.contextmanager
def entered(namespace):
    """Meanwhile this thread's sockets, /proc/sys/net and thread-self/net are the namespace's."""
    with open("/proc/thread-self/ns/net") as own, open(f"/run/netns/{namespace}") as other:
        set_namespace(other.fileno())
        try:
            yield
        finally:
            set_namespace(own.fileno())


def sysctl_path(name):
    return pathlib.Path("/proc/sys", *name.split("."))


def set_sysctl(name, value):
    try:
        sysctl_path(name).write_text(f"{value}\n")
    except OSError as error:
        raise Failed(f"sysctl {name}={value}: {error.strerror}") from error


def get_sysctl(name):
    return sysctl_path(name).read_text().strip()


def interface_counters(interface):
    """The counters of /proc/net/dev: what came in and went out, link-level headers included."""
    for line in pathlib.Path("/proc/thread-self/net/dev").read_text().splitlines():
        name, _, figures = line.partition(":")
        if name.strip() == interface:
            counts = [int(word) for word in figures.split()]
            return {"received_bytes": counts[0], "received_packets": counts[1],
                    "received_dropped": counts[3], "sent_bytes": counts[8],
                    "sent_packets": counts[9], "sent_dropped": counts[11]}
    raise Failed(f"no interface {interface}")


def protocol_counters(protocol):
    """What TCP, or "Icmp", of the namespace that is entered has counted since it was made."""
    names, values = (line.split()[1:]
                     for line in pathlib.Path("/proc/thread-self/net/snmp").read_text().splitlines()
                     if line.startswith(f"{protocol}:"))
    return dict(zip(names, map(int, values)))


def listening_ports():
    """TCP ports with a listener, of either family, in the namespace that is entered."""
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/thread-self/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                ports.add(int(words[1].rsplit(":", 1)[1], 16))
    return ports


def die_with_parent():
    """For a child before exec: it does not outlive a lab that is killed."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def require():
    """Skips where namespaces cannot be made."""
    if os.geteuid() != 0:
        raise Skipped("needs root, for network namespaces")
    for tool in ("ip", "tc"):
        if not any(os.access(f"{folder}/{tool}", os.X_OK) for folder in search_path()):
            raise Skipped(f"needs {tool} (package iproute2)")
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True,
                           timeout=COMMAND_SECONDS)
    if probe.returncode != 0:
        raise Skipped(f"network namespaces cannot be made here: {probe.stderr.strip()}")


def search_path():
    return os.environ.get("PATH", "").split(":") + ["/usr/sbin", "/sbin"]


def is_ipv6(address):
    with contextlib.suppress(OSError):
        socket.inet_pton(socket.AF_INET6, address.split("%")[0])
        return True
    return False
