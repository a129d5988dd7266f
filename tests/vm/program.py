"""A program started in a virtual machine: its output, its end, and the end of all it started.

The same as tests/lab's processes, as far as a test sees. Its command and what it writes are files in
the shared folder.
"""

import pathlib
import shlex
import sys
import time

import kernel

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "reference"))

import schemas  # noqa: E402

GRACE_SECONDS = 10
TICK = 0.02


class Program:
    def __init__(self, machine, number, words, environment):
        self.machine, self.number = machine, number
        self.words = [str(word) for word in words]
        folder = machine.folder / str(number)
        folder.mkdir()
        self.out, self.err, self.pid_file = folder / "out", folder / "err", folder / "pid"
        given = {"PATH": ":".join([*map(str, machine.path), "$PATH"])}
        exports = "".join(f'export {name}="{value}"\n' for name, value in given.items()) + "".join(
            f"export {name}={shlex.quote(str(value))}\n" for name, value in environment.items())
        (folder / "command").write_text(
            f"echo $$ >{shlex.quote(str(self.pid_file))}\n{exports}exec {shlex.join(self.words)}\n")

    def stdout(self):
        return self.text(self.out)

    def document(self):
        """What it printed, which is one JSON document."""
        try:
            return schemas.document_in(self.stdout())
        except ValueError as error:
            raise kernel.Failed(f"no such document ({error}): {self.told()}") from None

    def stderr(self):
        return self.text(self.err)

    @staticmethod
    def text(file):
        return file.read_text(errors="replace") if file.exists() else ""

    @property
    def status(self):
        return self.machine.ended.get(self.number)

    def running(self):
        self.machine.hear()
        return self.status is None

    def wait(self, timeout):
        """The exit status; one that takes longer is ended, and the test has failed."""
        end = time.monotonic() + timeout
        while self.status is None and time.monotonic() < end:
            self.machine.hear(max(0, end - time.monotonic()))
        if self.status is None:
            self.signal("KILL")
            raise kernel.Failed(f"still running after {timeout} s: {self.told()}")
        return self.status

    def until(self, condition, timeout, what):
        """Waits until condition() holds, while this program runs."""
        end = time.monotonic() + timeout
        while not condition():
            if not self.running():
                raise kernel.Failed(f"ended before {what}: {self.told()}")
            if time.monotonic() > end:
                raise kernel.Failed(f"no {what} within {timeout} s: {self.told()}")
            time.sleep(TICK)

    def signal(self, name):
        """To it and all it started; `name` as kill knows it, such as INT."""
        self.machine.ask("signal", self.number, name)

    def stop(self, name="TERM", timeout=GRACE_SECONDS):
        """Asks it to end, and sees that it does. The exit status."""
        self.signal(name)
        return self.wait(timeout)

    def told(self):
        return (f"{self.machine.name}: {shlex.join(self.words)} (exit status {self.status})\n"
                f"--- standard output\n{self.stdout()}--- standard error\n{self.stderr()}")
