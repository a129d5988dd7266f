"""Whoever signals whom, a job under `chokepoint run` gets what it would get in chokepoint's place:
the same job runs alone, and then watched, and both are signalled in the same way."""

import contextlib
import os
import pathlib
import pty
import shlex
import signal
import sys
import time

import cgroups
from checks import same, soon
from processes import children_of, tree_of

SIGNAL_LOG = pathlib.Path(__file__).resolve().parents[1] / "jobs" / "signal_log.py"
READY_SECONDS, END_SECONDS, QUIET_SECONDS = 20, 20, 3
# Two signals that come at once would be one for whoever is slow to read them.
GAP_SECONDS = 0.005
ALONE, WATCHED = (), ("chokepoint", "run", "-q", "--out", "run", "--")


class Told:
    """What the two processes of the job said, in a folder that is its own."""

    def __init__(self, lab, name):
        self.folder = lab.folder / name
        self.folder.mkdir()
        self.file = self.folder / "told"

    def words(self, watched):
        return ["env", "-C", self.folder, *watched, sys.executable, SIGNAL_LOG, self.file,
                QUIET_SECONDS]

    def await_ready(self):
        soon(lambda: self.file.exists() and self.file.read_text().count("ready") == 2,
             READY_SECONDS, "the job")

    def signals(self):
        lines = [line.split() for line in self.file.read_text().splitlines()]
        return {who: [name for one, name in lines if one == who and name != "ready"]
                for who in ("first", "second")}


def to_both(name):
    return {"first": [name], "second": [name]}


def to_the_first(name):
    return {"first": [name], "second": []}


def got(lab, host, name, watched, send, before=()):
    """`send` is given the pid of what was started."""
    told = Told(lab, name)
    process = host.start([*before, *told.words(watched)])
    told.await_ready()
    send(process.pid)
    process.wait(END_SECONDS)
    return told.signals()


def as_alone(lab, send, wanted, before=()):
    host = lab.host("left")
    same(got(lab, host, "alone", ALONE, send, before), wanted, "alone")
    same(got(lab, host, "watched", WATCHED, send, before), wanted, "watched")


def test_a_process(lab):
    as_alone(lab, lambda pid: os.kill(pid, signal.SIGTERM), to_the_first("SIGTERM"))


def test_a_process_group(lab):
    as_alone(lab, lambda pid: os.killpg(pid, signal.SIGTERM), to_both("SIGTERM"))


# As container runtimes do: to the first process, from outside of its PID namespace.
def test_a_container(lab):
    as_alone(lab, lambda pid: os.kill(next(children_of(pid)), signal.SIGTERM),
             to_the_first("SIGTERM"),
             ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"))


@contextlib.contextmanager
def cgroup(name):
    group = cgroups.Group(cgroups.second_version() or cgroups.first_version("pids"), name)
    with contextlib.closing(group):
        yield group
        # The second process ends after the first.
        soon(lambda: not (group.folder / "cgroup.procs").read_text(), END_SECONDS, "the job's end")


# As systemd does with KillMode=control-group.
def test_a_cgroup(lab):
    def end(pid):
        for one in tree_of(pid):
            group.take(one)
        for one in (group.folder / "cgroup.procs").read_text().split():
            os.kill(int(one), signal.SIGTERM)
            os.kill(int(one), signal.SIGCONT)
            time.sleep(GAP_SECONDS)

    with cgroup("signals") as group:
        as_alone(lab, end, to_both("SIGTERM"))


# The witnesses stay with chokepoint, so that they say nothing of the job.
def test_a_cgroup_that_the_job_has_left(lab):
    def end(pid):
        jobs = [one for one in tree_of(pid) if name_of(one).startswith("python")]
        for one in jobs:
            group.take(one)
        for one in set(tree_of(pid)) - set(jobs):
            os.kill(one, signal.SIGTERM)

    with cgroup("left") as group:
        same(got(lab, lab.host("left"), "watched", WATCHED, end), to_both("SIGTERM"), "watched")


def name_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text()


# It signals its child and then the group of both, so that the job alone has it once or twice.
def test_timeout(lab):
    same(got(lab, lab.host("left"), "watched", WATCHED, lambda pid: os.kill(pid, signal.SIGTERM),
             ("timeout", "60")), to_both("SIGTERM"), "watched")


def test_control_c_in_a_pipeline(lab):
    host = lab.host("left")
    for name, watched in (("alone", ALONE), ("watched", WATCHED)):
        told = Told(lab, name)
        job = shlex.join(map(str, told.words(watched)))
        words = host.inside(["sh", "-c", f"trap : INT; {job} | cat"])
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe(words[0], words, host.environment)
        told.await_ready()
        os.write(terminal, b"\x03")
        os.waitpid(pid, 0)
        os.close(terminal)
        same(told.signals(), to_both("SIGINT"), name)
