"""A process run to its end, and what it cost: wall clock, processor time, most memory."""

import contextlib
import os
import pathlib
import subprocess
import threading
import time

LOOK_SECONDS = 0.005


class Cost:
    def __init__(self, seconds, usage, status, memory_mb):
        self.seconds = seconds
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.memory_mb = memory_mb
        self.status = status

    def figures(self):
        return {"seconds": round(self.seconds, 4), "cpu_s": round(self.cpu_s, 4),
                "memory_mb": round(self.memory_mb, 2)}


class Memory(threading.Thread):
    """Looks at a process's most memory until it is gone. What the kernel tells at the end is no
    help: it counts the memory of whoever started it along."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.status = pathlib.Path(f"/proc/{pid}/status")
        self.kib = 0
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.wait(LOOK_SECONDS):
            with contextlib.suppress(OSError, StopIteration):
                line = next(line for line in self.status.read_text().splitlines()
                            if line.startswith("VmHWM"))
                self.kib = max(self.kib, int(line.split()[1]))


def ended(process, began):
    """Waits for it, whoever started it."""
    memory = Memory(process.pid)
    memory.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    memory.is_over.set()
    memory.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(seconds, usage, process.returncode, memory.kib * 1024 / 1e6)


def run(words):
    """Its output goes where it costs nothing."""
    began = time.monotonic()
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    return ended(process, began)
