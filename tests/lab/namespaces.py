"""Named network namespaces that never outstay their owner.

A namespace is called lab-PID-START-HOST after the process that made it (START is when that process
began, so that a reused PID is no owner), and so is the folder of its files. The owner deletes its
own; those of owners that were killed are swept by the next lab.

Congestion control is inherited from the machine when a namespace is made and cannot be set inside,
so the machine's is changed for that moment, under a lock.
"""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import tempfile

import kernel

LOCK = pathlib.Path("/run/lock/chokepoint-lab")
CONGESTION_CONTROL = "net.ipv4.tcp_congestion_control"
NAMESPACES = pathlib.Path("/run/netns")
NAME = re.compile(r"lab-(\d+)-(\d+)-.+")


def start_of(pid):
    """When a process began, in ticks since boot; None where there is none."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(text.rsplit(")", 1)[1].split()[19])


def name_for(host):
    return f"lab-{os.getpid()}-{start_of(os.getpid())}-{host}"


@contextlib.contextmanager
def machine_congestion_control(wanted):
    """Holds the lock that keeps labs from changing it at once. The lock file remembers what it was,
    so that whoever comes after one that was killed here puts it back."""
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with open(LOCK, "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        before = lock.read().strip() or kernel.get_sysctl(CONGESTION_CONTROL)
        write(lock, before)
        try:
            kernel.set_sysctl(CONGESTION_CONTROL, wanted)
            yield
        finally:
            kernel.set_sysctl(CONGESTION_CONTROL, before)
            write(lock, "")


def write(lock, text):
    lock.truncate(0)
    lock.write(text)
    lock.flush()


def create(name, congestion):
    with machine_congestion_control(congestion):
        kernel.command("ip", "netns", "add", name)


def processes(name):
    """The PIDs of what runs inside, also of what has left its parents."""
    return [int(word) for word in kernel.command("ip", "netns", "pids", name).split()]


def end_processes(name):
    for pid in processes(name):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def delete(name):
    end_processes(name)
    kernel.command("ip", "netns", "delete", name)


def abandoned(folder):
    """What stands in a folder under the name of an owner that is gone."""
    for entry in sorted(folder.iterdir()) if folder.is_dir() else []:
        owner = NAME.fullmatch(entry.name)
        if owner and start_of(int(owner[1])) != int(owner[2]):
            yield entry


def sweep():
    for entry in abandoned(NAMESPACES):
        with contextlib.suppress(kernel.Failed):
            delete(entry.name)
    for entry in abandoned(pathlib.Path(tempfile.gettempdir())):
        shutil.rmtree(entry, ignore_errors=True)
