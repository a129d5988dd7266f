"""Faults that end a job's progress without ending the job. It never ends by itself then: after
`over_s` from their begin its processes are killed."""

import contextlib
import os
import pathlib
import signal

import cgroups
import kernel
from fault import Fault
from job_faults import is_of_the_job
from processes import tree_of
from wires import Way

ALL_LOST = 1.0
NEVER_MS = 10_000_000


class Stall(Fault):
    """Of the job's own program, which `options` tell what to do; or what the others do."""

    is_released = False

    def options(self):
        return self.words.get("options", {})

    def at(self, seconds, jobs):
        super().at(seconds, jobs)
        is_over = self.was_on and seconds >= self.words["from_s"] + self.words["over_s"]
        if is_over and not self.is_released:
            self.is_released = True
            self.release()
            for job in jobs.values():
                kill(job)

    def release(self):
        """What keeps processes from ending."""


def kill(job):
    for pid in tree_of(job.pid):
        if is_of_the_job(pid):
            with contextlib.suppress(ProcessLookupError):  # by the end of another one
                os.kill(pid, signal.SIGKILL)


def rank_of(pid):
    words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return next((int(word[5:]) for word in words if word.startswith(b"RANK=")), None)


def ranks(job):
    return {rank_of(pid): pid for pid in tree_of(job.pid) if is_of_the_job(pid)}


class RankStopped(Stall):
    """By a signal."""

    def begin(self, jobs):
        for job in jobs.values():
            pid = ranks(job).get(self.words["rank"])
            if pid is not None:
                os.kill(pid, signal.SIGSTOP)


class HostFrozen(Stall):
    """All that runs there stands, the watch included; the kernel goes on."""

    group = None

    def begin(self, jobs):
        self.group = cgroups.Group(cgroups.second_version(), "frozen")
        for pid in reversed(tree_of(jobs[self.words["host"]].pid)):
            self.group.take(pid)
        self.group.write("cgroup.freeze", 1)

    def release(self):
        self.group.write("cgroup.freeze", 0)

    def close(self):
        if self.group:
            self.release()
            self.group.close()


class HostGone(Stall):
    """Its power fails: nothing runs there any more, and no frame leaves it."""

    def begin(self, jobs):
        self.link().cut()
        for pid in tree_of(jobs[self.words["host"]].pid):
            os.kill(pid, signal.SIGKILL)


class PathCut(Stall):
    """Frames vanish, both ways or only there or back, and no host sees it."""

    def begin(self, jobs):
        way = self.words.get("way")
        if way is None:
            self.link().cut()
        else:
            self.link().change(**{way: Way(loss=ALL_LOST)})

    def release(self):
        if "way" not in self.words:
            self.link().mend()


class FilesHang(Stall):
    """A rank's file system answers no more."""

    def begin(self, jobs):
        (self.folder() / "speed").write_text(f"0 {NEVER_MS}\n")

    def release(self):
        """No signal ends a process that waits for an answer from FUSE."""
        kernel.command("umount", "-f", self.folder())

    def folder(self):
        return self.stage.data[self.words["rank"]]
