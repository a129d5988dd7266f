"""Programs that a check starts: each has a time limit, what it prints is kept, and no process of it
stays behind. A watched job outlives chokepoint, so whatever a program started is ended with it."""

import json
import os
import pathlib
import signal
import subprocess
import time

from outcome import Failed

POLITE_S = 3


def children():
    """All processes' children, by their parent."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found.setdefault(int(words[1]), []).append(int(entry.name))
    return found


def below(pid):
    tree = children()
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += tree.get(found[-1], [])
    return found


def tell(pids, what):
    for pid in pids:
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            pass


class Program:
    def __init__(self, folder, name, command, environment=None):
        self.name = name
        self.command = [str(word) for word in command]
        self.output = folder / f"{name}.out"
        self.errors = folder / f"{name}.err"
        with open(self.output, "wb") as output, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                env={**os.environ, **(environment or {})}, start_new_session=True)

    def end(self):
        if self.process.poll() is not None:
            return
        pids = below(self.process.pid)
        tell([self.process.pid], signal.SIGTERM)
        deadline = time.monotonic() + POLITE_S
        while time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(0.05)
        if self.process.poll() is None:
            tell(below(self.process.pid), signal.SIGKILL)
        else:
            tell([pid for pid in pids[1:] if pathlib.Path(f"/proc/{pid}").exists()],
                 signal.SIGKILL)
        self.process.wait()

    def complaint(self):
        """What it said last of an error, or at all. Behind a job's own words stand chokepoint's."""
        text = self.errors.read_text(errors="replace").strip()
        lines = (text or self.output.read_text(errors="replace").strip()).splitlines()
        errors = [line.strip() for line in lines if "error" in line.lower()]
        return " | ".join(errors[-2:] or lines[-3:])[-400:]

    def wait(self, limit_s, fine=(0,)):
        try:
            status = self.process.wait(max(0.1, limit_s))
        except subprocess.TimeoutExpired:
            self.end()
            raise Failed(f"{self.name} took more than {limit_s:.0f} s: {self.complaint()}") from None
        if status not in fine:
            raise Failed(f"{self.name} ended with {status}: {self.complaint()}")
        return self.output.read_text(errors="replace")


def document(text, name):
    """The JSON that a program printed."""
    try:
        return json.loads(text)
    except ValueError as problem:
        raise Failed(f"{name} printed no JSON ({problem}): {text[:200]!r}") from None
