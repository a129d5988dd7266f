"""A process started in a host of the lab: its output, its end, and the end of all it started."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import kernel

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "reference"))

import schemas  # noqa: E402

GRACE_SECONDS = 5
TICK = 0.01


def children_of(pid):
    with contextlib.suppress(OSError):
        for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
            for word in (thread / "children").read_text().split():
                yield int(word)


def tree_of(pid):
    found = [pid]
    for child in children_of(pid):
        found += tree_of(child)
    return found


class Process:
    """Runs in a session of its own. Output goes to files, so that nobody has to drain it."""

    def __init__(self, words, folder, environment, stdin=subprocess.DEVNULL):
        self.words = words
        folder.mkdir(parents=True)
        self.out = folder / "out"
        self.err = folder / "err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.popen = subprocess.Popen(words, stdin=stdin, stdout=out, stderr=err,
                                          env=environment, start_new_session=True,
                                          preexec_fn=kernel.die_with_parent)
        self.pid = self.popen.pid

    def stdout(self):
        return self.out.read_text(errors="replace")

    def document(self):
        """What it printed, which is one JSON document."""
        try:
            return schemas.document_in(self.stdout())
        except ValueError as error:
            raise kernel.Failed(f"no such document ({error}): {self.told()}") from None

    def stderr(self):
        return self.err.read_text(errors="replace")

    def running(self):
        return self.popen.poll() is None

    def wait(self, timeout):
        """The exit status; one that takes longer is ended, and the test has failed."""
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise kernel.Failed(f"still running after {timeout} s: {self.told()}") from None

    def until(self, condition, timeout, what):
        """Waits until condition() holds, while this process runs."""
        end = time.monotonic() + timeout
        while not condition():
            if not self.running():
                raise kernel.Failed(f"ended before {what}: {self.told()}")
            if time.monotonic() > end:
                raise kernel.Failed(f"no {what} within {timeout} s: {self.told()}")
            time.sleep(TICK)

    def signal(self, number):
        if self.is_ours():
            os.kill(self.pid, number)

    def is_ours(self):
        """Until its end was seen. From then on the number may be another's, of a process or of a
        group, perhaps of one that has nothing to do with any lab."""
        return self.popen.returncode is None

    def has_ended(self):
        """Without seeing to it that the number is free."""
        return not self.is_ours() or os.waitid(
            os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def stop(self, timeout=GRACE_SECONDS):
        """Asks it to end, and sees that it does. The exit status."""
        self.signal(signal.SIGTERM)
        end = time.monotonic() + timeout
        while not self.has_ended() and time.monotonic() < end:
            time.sleep(TICK)
        self.kill()
        return self.popen.returncode

    def kill(self):
        """Ends the whole tree at once. What one left behind whose end was seen before, the end of
        its host ends."""
        if self.is_ours():
            for pid in tree_of(self.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait(GRACE_SECONDS)

    def told(self):
        return (f"{' '.join(self.words)} (exit status {self.popen.poll()})\n"
                f"--- standard output\n{self.stdout()}--- standard error\n{self.stderr()}")
