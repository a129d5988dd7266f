"""Faults of what ranks read and write: files of a file system of the lab's own (slow_files.py), or
of a disk, or objects of a store (store.py)."""

import contextlib
import os
import pathlib
import subprocess
import sys
import time

import cgroups
import disks
import kernel
from fault import Fault
from host_faults import OfTheRank
from processes import tree_of

PROGRAM = pathlib.Path(__file__).parent / "slow_files.py"
STORE = pathlib.Path(__file__).parent / "store.py"
STORE_PORT = 9000
HAS_FUSE = "import importlib.util, sys; sys.exit(importlib.util.find_spec('fusepy') is None)"
LEAST_DISK = 32_000_000  # for the file system itself
MOUNT_S = 10


class SlowFiles(Fault):
    """Of `ranks`, or of all: `mbps` and `latency_ms`, of files or of what a store has for them."""

    def begin(self, jobs):
        self.set_speed(f"{self.words.get('mbps', 0)} {self.words.get('latency_ms', 0)}")

    def end(self, jobs):
        self.set_speed("0 0")

    def set_speed(self, words):
        for number, folder in enumerate(self.stage.data):
            if number in self.words.get("ranks", [number]):
                (folder / "speed").write_text(f"{words}\n")


class SlowDisk(OfTheRank):
    """What the job reads from its disks: `mbps` of each of them, and no more than `memory_mb` of it
    stay in a host's memory."""

    groups = ()

    def begin(self, jobs):
        self.groups = []
        for host, job in jobs.items():
            rates = cgroups.Group(cgroups.first_version("blkio"), f"slow-{host}")
            self.groups.append(rates)
            memory = cgroups.Group(cgroups.first_version("memory"), f"small-{host}")
            self.groups.append(memory)
            for folder in self.stage.data:
                disk = os.stat(folder).st_dev
                rates.write("blkio.throttle.read_bps_device",
                            f"{os.major(disk)}:{os.minor(disk)} "
                            f"{round(self.words['mbps'] * 1e6 / 8)}")
            memory.write("memory.limit_in_bytes", f"{self.words['memory_mb']}M")
            for pid in tree_of(job.pid):
                rates.take(pid)
                memory.take(pid)

    def slow_down(self, process):
        if self.is_on:
            for pid in tree_of(process.pid):
                self.groups[0].take(pid)

    def end(self, jobs):
        for group in self.groups:
            group.close()
        self.groups = []

    def close(self):
        self.end({})


@contextlib.contextmanager
def data_of(stage, folder, ranks, words):
    """Files for each rank, in folder/rank-0 and so on: of a file system of the lab's own, or where
    `words` say so on a disk or in a store."""
    folders = [folder / f"rank-{number}" for number in range(ranks)]
    with contextlib.ExitStack() as stack:
        if words.get("on") == "disk":
            yield [stack.enter_context(disk_of_files(each, words)) for each in folders]
        elif words.get("on") == "store":
            yield stored(stage, folders, words)
        else:
            python = python_with_fuse()
            yield [stack.enter_context(mounted(python, each, words)) for each in folders]


def stored(stage, folders, words):
    """The switch has a store; the folders say how fast it answers."""
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "speed").write_text(f"0 {words.get('latency_ms', 0)}")
    words = [sys.executable, "-B", STORE, STORE_PORT, folders[0].parent, words["kb"] * 1000]
    stage.hosts[stage.scenario.switch].serve(words, STORE_PORT)
    return folders


def store_address(stage):
    return f"{stage.end(stage.scenario.switch).ipv4}:{STORE_PORT}"


@contextlib.contextmanager
def disk_of_files(folder, words):
    """Read from the disk when they are read first."""
    folder.mkdir(parents=True)
    size = words["kb"] * 1000
    spare = LEAST_DISK + words.get("spare_mb", 0) * disks.MEGABYTE
    with disks.of_a_file(folder.parent / f"{folder.name}.image", folder,
                         spare + words["files"] * size * 3 // 2):
        for number in range(words["files"]):
            with open(folder / f"sample-{number}", "wb") as file:
                file.write(bytes(size))
                file.flush()
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        yield folder


def python_with_fuse():
    """The interpreter that has Debian's fusepy, which may not be the one that runs this."""
    python = next((each for each in ("python3", "/usr/bin/python3") if subprocess.run(
        [each, "-c", HAS_FUSE], check=False).returncode == 0), None)
    if python is None:
        raise kernel.Skipped("needs python3-fusepy")
    return python


@contextlib.contextmanager
def mounted(python, folder, words):
    folder.mkdir(parents=True)
    program = subprocess.Popen([python, "-B", PROGRAM, folder, str(words["files"]),
                                str(words["kb"] * 1000)])
    try:
        until = time.monotonic() + MOUNT_S
        while not (folder / "speed").exists():
            if program.poll() is not None or time.monotonic() > until:
                raise kernel.Skipped("no file system by FUSE")
            time.sleep(0.02)
        yield folder
    finally:
        program.kill()  # it may owe answers for as long as it was told to wait
        subprocess.run(["umount", "-l", folder], check=False)
        program.wait(MOUNT_S)
