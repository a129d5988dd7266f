"""A real Gloo job of two ranks, a host each, watched or alone, and whether it came to what it comes
to without chokepoint: the same exit status, the same output and the same tensors, to the bit.

    stage = Stage(lab, program)
    expected = alone(stage, JOBS["gloo"])
    complaints = stage.play(JOBS["gloo"], watched={"left": {}}).end().differs_from(expected)
"""

import contextlib
import hashlib
import os
import pathlib
import shutil
import time

from lab import Failed, Skipped
from processes import TICK

TREE = pathlib.Path(__file__).resolve().parents[3]
NAMES = ("left", "right")
RATE_MBPS = 1000
TORCH_PORT = 29500
# What a rank's shell ends with where its program ended with 0: no other part of the play does.
OWN_STATUS = 7
RANK = ': >"$0/started"; "$@"; status=$?; echo $status >"$0/status"; exit $((status + 7))'
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
JOB_SECONDS = 120


def built(variable, place):
    found = pathlib.Path(os.environ.get(variable, TREE / "build/release" / place))
    if not os.access(found, os.R_OK):
        raise Skipped(f"needs {found.name}: libgloo-dev, and ninja -C build/release {found.name}")
    return found


class Sums:
    """In C++, so that it starts at once."""
    name, steps, step_ms = "gloo", 60, 50

    def __init__(self, steps=60):
        self.steps = steps

    def words(self, number, play):
        program = built("CHOKEPOINT_LAB_SUMS", "tests/lab/sums/lab_sums")
        return [program, number, len(NAMES), play.meeting(), play.ends[number].interface,
                self.steps, self.step_ms, play.kept(number) / "tensors",
                play.kept(number) / "truth"]

    def environment(self, number, play):
        return {}


class Torch:
    """PyTorch's own process group and a model that learns."""
    name, steps, step_ms = "torch", 50, 50
    script = TREE / "tests/lab/jobs/torch_steps.py"
    python = "/usr/bin/python3"

    def words(self, number, play):
        return [self.python, "-B", self.script, self.steps, self.step_ms,
                play.kept(number) / "tensors", play.kept(number) / "truth"]

    def environment(self, number, play):
        return {**ONE_THREAD, "RANK": str(number), "WORLD_SIZE": str(len(NAMES)),
                "MASTER_ADDR": play.ends[0].ipv4, "MASTER_PORT": str(TORCH_PORT),
                "GLOO_SOCKET_IFNAME": play.ends[number].interface}


JOBS = {"gloo": Sums(), "torch": Torch()}


class Stage:
    """Two hosts; a play follows the other."""

    def __init__(self, lab, program):
        self.lab, self.program = lab, program
        self.hosts = {name: lab.host(name) for name in NAMES}
        self.link = lab.link(*self.hosts.values(), RATE_MBPS)
        self.played = 0

    def play(self, job, watched=(), folder=None):
        """Starts the job. `watched`: {host: how}, where `how` may have out, options, environment,
        `before`, what runs chokepoint in turn, and `first`, for the shell of the rank."""
        return Play(self, job, dict(watched), folder or self.next_folder())

    def next_folder(self):
        self.played += 1
        folder = self.lab.folder / f"play-{self.played}"
        folder.mkdir()
        return folder


class Play:
    def __init__(self, stage, job, watched, folder):
        self.stage, self.job, self.watched, self.folder = stage, job, watched, folder
        self.ends = (stage.link.a, stage.link.b)
        for number in range(len(NAMES)):
            self.kept(number).mkdir()
        self.meeting().mkdir()
        self.began_ns = time.monotonic_ns()
        self.processes = {name: self.started(number, name) for number, name in enumerate(NAMES)}

    def kept(self, number):
        return self.folder / f"rank-{number}"

    def meeting(self):
        return self.folder / "meeting"

    def out(self, name):
        return self.watched[name].get("out") or self.folder / "records"

    def started(self, number, name):
        how = self.watched.get(name)
        rank = ["sh", "-c", (how or {}).get("first", "") + RANK, self.kept(number),
                *self.job.words(number, self)]
        environment = self.job.environment(number, self)
        if how is None:
            return self.stage.hosts[name].start(rank, environment)
        return self.stage.hosts[name].start(
            [*how.get("before", ()), self.stage.program, "run", "--out", self.out(name),
             "--node", name, *how.get("options", ()), "--", *rank],
            {**environment, **how.get("environment", {})})

    def has_started(self, name):
        return (self.kept(NAMES.index(name)) / "started").exists()

    def has_ended(self, name):
        return text_of(self.kept(NAMES.index(name)) / "status") != ""

    def until(self, condition, what, seconds=JOB_SECONDS):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise Failed(f"no {what} within {seconds} s: {self.told()}")
            time.sleep(TICK)

    def end(self):
        """Waits until the job is over and whatever watched it has ended."""
        for name in NAMES:
            self.until(lambda name=name: self.has_ended(name), f"end of the job on {name}")
        self.ended_ns = time.monotonic_ns()
        for process in self.processes.values():
            process.wait(JOB_SECONDS)
        self.closed_ns = time.monotonic_ns()
        return self

    def results(self, name):
        """What must be the same: the job's exit status, its output, its tensors."""
        kept = self.kept(NAMES.index(name))
        return {"status": text_of(kept / "status"), "output": digest(self.processes[name].out),
                "tensors": digest(kept / "tensors")}

    def all_results(self):
        return {name: self.results(name) for name in NAMES}

    def differs_from(self, alone, but=()):
        """What is not as in the results of a play without chokepoint, a line each. `but`: hosts
        where the exit status of chokepoint itself is no matter, because it was killed."""
        found = []
        for name in NAMES:
            mine, its = self.results(name), alone[name]
            found += [f"{name}: {what} {mine[what]} instead of {its[what]}"
                      for what in mine if mine[what] != its[what]]
            status = self.processes[name].popen.returncode
            if name not in but and status != OWN_STATUS:
                found.append(f"{name}: exit status {status} instead of {OWN_STATUS}")
        return found

    def truth(self, name):
        """When each step's line was printed, in nanoseconds of the monotonic clock."""
        lines = text_of(self.kept(NAMES.index(name)) / "truth").splitlines()
        return [int(line.split()[1]) for line in lines]

    def told(self):
        return "\n".join(f"{name}: {process.stderr().strip()}"
                         for name, process in self.processes.items())

    def close(self):
        for process in self.processes.values():
            process.kill()

    def remove(self):
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def text_of(file):
    with contextlib.suppress(OSError):
        return file.read_text().strip()
    return ""


def digest(file):
    with contextlib.suppress(OSError):
        return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    return "nothing"


def alone(stage, job):
    """What the job comes to without chokepoint. Played twice: a job that differs from itself would
    prove nothing."""
    first, second = (stage.play(job).end() for _ in range(2))
    results = first.all_results()
    complaints = second.differs_from(results)
    if complaints or any(each["status"] != "0" for each in results.values()):
        raise Failed(f"the job alone is not the same twice: {complaints} {first.told()}")
    for play in (first, second):
        play.remove()
    return results
