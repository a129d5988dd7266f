"""A scenario played: the job on its hosts under the fault, and what the job itself says of it.

Each rank is started on its host, under `chokepoint run` where that is wanted, and knows nothing of
the scenario but its own parameters. What is known of the truth goes to other files.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import baseline
import chroots
import faults
import storage_faults
from kernel import Skipped
from stage import Stage

TREE = pathlib.Path(__file__).resolve().parents[2]
BY_TORCH = {"ddp": TREE / "scripts/train/ddp.py", "rpc": TREE / "scripts/train/rpc.py",
            "shapes": TREE / "tests/lab/jobs/shapes.py",
            "loading": TREE / "tests/lab/jobs/loading.py",
            "stalling": TREE / "tests/lab/jobs/stalling.py"}
NCCL_RANK = TREE / "tests/lab/jobs/nccl_rank.py"
SEVERAL = TREE / "tests/lab/jobs/host_ranks.py"
TORCHRUN = TREE / "tests/lab/jobs/torchrun.py"
# As people start PyTorch by it: its rank becomes the variable that PyTorch reads.
BY_MPI = 'export RANK=$(($1 + OMPI_COMM_WORLD_RANK)) WORLD_SIZE=$2; shift 2; exec "$@"'
TO_A_FILE = 'file=$1; shift; exec "$@" > "$file"'
PORT = 29500
STEP = re.compile(r"^step (\d+)(?: loss [\d.]+)? time ([\d.]+)ms$", re.MULTILINE)
HAS_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
RUN_SECONDS = 90
TICK = 0.05
WARM_UP_STEPS = 2


@dataclasses.dataclass
class Played:
    steps_ms: list  # of rank 0
    statuses: dict  # of each host's job
    counters: dict  # of each host: what passed the job's interface meanwhile
    seconds: float
    records: pathlib.Path | None
    record: dict | None  # what chokepoint says is in them
    spent: dict  # of each host's rank: what its time went to, as the trainer says
    steps: dict  # how many each host's job told of

    @property
    def usual_ms(self):
        return statistics.median(self.steps_ms[WARM_UP_STEPS:] or self.steps_ms or [0])

    @property
    def longest_ms(self):
        return max(self.steps_ms[WARM_UP_STEPS:], default=0)


class Player:
    run_options = ()  # more words for `chokepoint run`

    def __init__(self, lab, scenario, folder, is_watched):
        """`folder`: gets records/ once the job is over; until then nothing that is seen of it has
        the scenario's name."""
        self.scenario, self.folder, self.is_watched = scenario, folder, is_watched
        self.meet, self.spent, self.records, self.options, self.unseen, self.files = (
            lab.folder / "job" / name
            for name in ("meet", "spent", "records", "options", "unseen", "files"))
        for made in (self.meet, self.spent, self.options, self.unseen):
            made.mkdir(parents=True)
        self.stage = Stage(lab, scenario)
        self.fault = faults.of(self.stage, scenario.fault)

    def play(self):
        with self.data(), contextlib.closing(self.fault):
            self.fault.before_the_job()
            if self.is_watched and self.scenario.baseline:
                baseline.probe(self.stage, self.scenario.baseline["probes"], self.records)
            before, began = self.counters(), time.monotonic()
            jobs = {host: self.start(host) for host in self.scenario.ranks}
            self.watch(jobs)
            statuses = {host: job.wait(RUN_SECONDS) for host, job in jobs.items()}
        steps = {host: steps_in(self.output(host, job)) for host, job in jobs.items()}
        return Played(steps[self.scenario.ranks[0]], statuses,
                      difference(self.counters(), before), time.monotonic() - began,
                      self.kept_records(), self.record(), self.time_spent(),
                      {host: len(told) for host, told in steps.items()})

    @contextlib.contextmanager
    def data(self):
        """What the ranks read, where the job reads anything."""
        job = self.scenario.job
        if not job.data:
            yield
            return
        ranks = len(self.scenario.ranks) * job.ranks_a_host
        with storage_faults.data_of(self.stage, self.files, ranks, job.data) as self.stage.data:
            yield

    def watch(self, jobs):
        """The fault comes and goes as the first rank's steps go on."""
        host = self.scenario.ranks[0]
        end = time.monotonic() + RUN_SECONDS
        began = None
        while any(job.running() for job in jobs.values()) and time.monotonic() < end:
            steps = len(steps_in(self.output(host, jobs[host])))
            if began is None and steps > 0:
                began = time.monotonic()
            if began is not None:
                self.fault.at(time.monotonic() - began, jobs)
                self.look(steps // self.scenario.job.ranks_a_host)
            time.sleep(TICK)

    def look(self, steps):
        """Called while the job goes on, with how many steps the first rank has told of."""

    def start(self, host):
        words, environment = self.words(host)
        if self.is_watched:
            labels = [word for label in self.labels() for word in ("--label", label)]
            words = ["chokepoint", "run", "--out", self.records, "--node", host, *labels,
                     *self.run_options, *self.scenario.job.watch, "--",
                     *words]
        return self.stage.hosts[host].start(words, environment=environment)

    def interface(self, host, link):
        if self.fault.is_by_host_name():
            return {}
        return {"GLOO_SOCKET_IFNAME": self.stage.end(host, link).interface}

    def labels(self):
        job = self.scenario.job
        batch = [f"batch={job.options['batch']}"] if "batch" in job.options else []
        return [f"setup={len(self.scenario.ranks)}x{job.ranks_a_host}", f"parallelism={job.label}", *batch]

    def words(self, host):
        link = self.fault.link_of_the_job(self.scenario.job.link)
        addresses = [self.stage.end(name, link).ipv4 for name in self.scenario.ranks]
        environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
                       "MASTER_ADDR": addresses[0], "MASTER_PORT": str(PORT),
                       **self.interface(host, link)}
        words, more = self.launched(host, self.program(addresses), addresses)
        pin = ["taskset", "-c", self.stage.processor(host)] if self.scenario.job.pinned else []
        words = [*pin, *words, f"@{self.options_of(host)}"]
        if self.scenario.job.output != "lines":
            words = ["sh", "-c", TO_A_FILE, "sh", self.unseen / host, *words]
        if self.scenario.job.is_modern:
            words = [*self.chroot(host, addresses), *words]
            more = more | chroots.MODERN
        return words, environment | more

    def chroot(self, host, addresses):
        """The fault says what names lead to, or they lead to where the job runs."""
        names = [] if self.fault.is_by_host_name() else [
            f"{address} {name}" for address, name in zip(addresses, self.scenario.ranks)]
        return chroots.inside(chroots.modern(), self.stage.lab, self.stage.hosts[host], names)

    def python(self):
        return chroots.PYTHON if self.scenario.job.is_modern else python_with_torch()

    def program(self, addresses):
        name = self.scenario.job.program
        if name in BY_TORCH:
            return [self.python(), "-B", BY_TORCH[name]]
        if name in ("nccl", "grid"):
            stand_in = ["--grid", nccl_grid()] if name == "grid" else ["--program", nccl_stand_in()]
            return [sys.executable, "-B", NCCL_RANK, *stand_in, "--addresses", ",".join(addresses)]
        return [trainer()]

    def launched(self, host, program, addresses):
        """What starts a host's ranks, and the variables that tell it which they are."""
        each, hosts = self.scenario.job.ranks_a_host, len(self.scenario.ranks)
        number = self.scenario.ranks.index(host)
        if self.scenario.job.launcher == "torchrun":
            return [self.python(), "-B", TORCHRUN, "--nnodes", hosts, "--node_rank", number,
                    "--nproc_per_node", each, "--master_addr", addresses[0],
                    "--master_port", PORT, *program[2:]], {}
        if self.scenario.job.launcher == "mpirun":
            return ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                    "-np", each, "sh", "-c", BY_MPI, "sh", number * each, hosts * each,
                    *program], {}
        if each > 1:
            first = f"{number}+{hosts}" if self.scenario.job.is_interleaved else number * each
            python = chroots.PYTHON if self.scenario.job.is_modern else sys.executable
            return [python, "-B", SEVERAL, first, each, hosts * each, *program], {}
        return program, {"RANK": str(number), "WORLD_SIZE": str(hosts)}

    def output(self, host, job):
        """What the job said, also where chokepoint does not see it."""
        file = self.unseen / host
        return file.read_text() if file.exists() else job.stdout()

    def options_of(self, host):
        """In a file, so that no command line tells what is wrong."""
        job = self.scenario.job
        own = {} if job.program != "trainer" else {
            "meet": self.meet, "truth": self.spent / f"{host}.json",
            "family": job.family or False}
        if job.output == "marks":
            own |= {"marks": True}
        if job.data:
            own |= {"data": self.files}
            if job.data.get("on") == "store":
                own |= {"store": storage_faults.store_address(self.stage)}
        file = self.options / host
        file.write_text("".join(f"{word}\n" for name, value in
                                {**own, **job.options, **self.fault.options()}.items()
                                for word in flag(name, value)))
        return file

    def counters(self):
        link = self.fault.link_of_the_job(None)
        return {host: wire_counters(self.stage.end(host, link)) for host in self.scenario.ranks}

    def kept_records(self):
        return shutil.move(self.records, self.folder / "records") if self.is_watched else None

    def record(self):
        if not self.is_watched:
            return None
        host = self.stage.hosts[self.scenario.ranks[0]]
        return host.json(["chokepoint", "record", "show", self.folder / "records", "--json"])

    def time_spent(self):
        return {file.stem: json.loads(file.read_text()) for file in self.spent.glob("*.json")}


def flag(name, value):
    word = "--" + name.replace("_", "-")
    if value is True:
        return [word]
    return [] if value is False else [word, value]


def wire_counters(end):
    """The interface counts a frame for many segments where the host has not cut them yet; their
    number is known to TCP."""
    counted = end.counters()
    tcp = end.host.tcp_counters()
    return {**counted, "sent_segments": tcp["OutSegs"] + tcp["RetransSegs"]}


def difference(after, before):
    return {host: {what: after[host][what] - before[host][what] for what in after[host]}
            for host in after}


def steps_in(output):
    return [float(found[2]) for found in STEP.finditer(output)]


def python_with_torch():
    """The system's, where another one comes first in the path."""
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", HAS_TORCH], check=False).returncode == 0:
            return python
    raise Skipped("needs python3-torch")


def trainer():
    return built("CHOKEPOINT_LAB_TRAINER", "scripts/train/trainer/lab_trainer",
                 "the trainer: libgloo-dev, and")


def nccl_stand_in():
    return built("CHOKEPOINT_LAB_NCCL", "tests/lab/nccl/lab_nccl", "the stand-in for NCCL:")


def nccl_grid():
    return built("CHOKEPOINT_LAB_NCCL_GRID", "tests/lab/nccl/lab_nccl_grid",
                 "the stand-in for NCCL:")


def built(variable, place, needed):
    """Where the tests say, or in the release build."""
    found = pathlib.Path(os.environ.get(variable, TREE / "build/release" / place))
    if not os.access(found, os.X_OK):
        raise Skipped(f"needs {needed} ninja -C build/release {found.name}")
    return found
