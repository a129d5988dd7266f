"""Faults of the job itself: how it is started, and how it ends."""

import os
import signal

from fault import Fault
from processes import tree_of

COMMANDS = ("lab_trainer", "lab_nccl", "python3")


class JobOptions(Fault):
    """The job is started otherwise, such as with a late rank."""

    def options(self):
        return self.words["options"]


class OtherInterface(Fault):
    """The job is told to use another link."""

    def link_of_the_job(self, otherwise):
        return self.words["link"]


class HostNames(OtherInterface):
    """The job is told no interface, and the hosts' names stand for their addresses on this link."""

    def before_the_job(self):
        ends = [self.stage.end(host, self.words["link"]) for host in self.stage.scenario.ranks]
        names = "".join(f"{end.ipv4} {end.host.name}\n" for end in ends)
        for end in ends:
            file = end.host.folder / "hosts"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"127.0.0.1 localhost\n{names}")
            end.host.prologue = f"mount --bind {file} /etc/hosts"

    def is_by_host_name(self):
        return True


class Killed(Fault):
    """A rank's process is gone at once; its host stays."""

    def begin(self, jobs):
        for pid in tree_of(jobs[self.words["host"]].pid):
            if is_of_the_job(pid):
                os.kill(pid, signal.SIGKILL)


def is_of_the_job(pid):
    """Not what started it, nor what watches it."""
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip() in COMMANDS
    except OSError:
        return False
