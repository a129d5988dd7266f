"""Faults of what ranks read and write: files of a file system of the lab's own (slow_files.py)."""

import contextlib
import pathlib
import subprocess
import time

import kernel
from fault import Fault

PROGRAM = pathlib.Path(__file__).parent / "slow_files.py"
HAS_FUSE = "import importlib.util, sys; sys.exit(importlib.util.find_spec('fusepy') is None)"
MOUNT_S = 10


class SlowFiles(Fault):
    """Of `ranks`, or of all: `mbps` and `latency_ms`; see slow_files.py."""

    def begin(self, jobs):
        self.set_speed(f"{self.words.get('mbps', 0)} {self.words.get('latency_ms', 0)}")

    def end(self, jobs):
        self.set_speed("0 0")

    def set_speed(self, words):
        for number, folder in enumerate(self.stage.data):
            if number in self.words.get("ranks", [number]):
                (folder / "speed").write_text(f"{words}\n")


@contextlib.contextmanager
def data_of(folder, ranks, words):
    """A file system for each rank, folder/rank-0 and so on."""
    python = next((each for each in ("python3", "/usr/bin/python3") if subprocess.run(
        [each, "-c", HAS_FUSE], check=False).returncode == 0), None)
    if python is None:
        raise kernel.Skipped("needs python3-fusepy")
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(mounted(python, folder / f"rank-{number}", words))
               for number in range(ranks)]


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
