"""Real training on two machines under `chokepoint run`, over TCP or over verbs, and what is left of
it: a record a node, and beside them what really was.

Each machine has a clock of its own, as hosts have. Records are written to the machine's own memory
and copied when the job is over: SQLite wants a file system that maps memory.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import time

from kernel import Skipped

TREE = pathlib.Path(__file__).resolve().parents[2]
STEP = re.compile(r"^step \d+ loss [\d.]+ time ([\d.]+)ms$", re.MULTILINE)
STARTING_SECONDS = 30
TICK = 0.05
PATIENCE = 3  # under loss a step may take many times its usual one


@dataclasses.dataclass
class Training:
    seconds: float = 30
    rdma: bool = True
    netem: tuple = ()  # for what leaves each of `lossy`
    lossy: str = "a"
    loss_after_s: float = 0  # from the job's start
    options: tuple = ("--bytes", 4_000_000, "--compute-ms", 60)
    is_watched: bool = True


@dataclasses.dataclass
class Played:
    statuses: dict
    steps_ms: dict  # of each machine, as the job prints them
    counters: dict  # how much each machine's rxe has counted meanwhile
    records: pathlib.Path | None


def trainer():
    """As it was built: where the tests say, or in the release build."""
    found = pathlib.Path(os.environ.get(
        "CHOKEPOINT_LAB_TRAINER", TREE / "build/release/scripts/train/trainer/lab_trainer"))
    if not os.access(found, os.X_OK):
        raise Skipped("needs the trainer: libgloo-dev, and ninja -C build/release lab_trainer")
    return found


def play(pair, training, folder):
    """`folder`: of the shared one, new; gets records/NODE.db, and truth/ of each rank."""
    (folder / "truth").mkdir(parents=True)
    (folder / "meet").mkdir()
    before = {machine.name: machine.rdma_counters() for machine in pair}
    jobs = [start(machine, rank, training, folder) for rank, machine in enumerate(pair)]
    limit = STARTING_SECONDS + training.seconds * PATIENCE
    with contextlib.ExitStack() as lossy:
        jobs[0].until(lambda: STEP.search(jobs[0].stdout()), STARTING_SECONDS, "step")
        while_running(jobs, training.loss_after_s)
        for machine in pair:
            if training.netem and machine.name in training.lossy:
                lossy.enter_context(machine.netem(*training.netem))
        statuses = {job.machine.name: job.wait(limit) for job in jobs}
    shutil.rmtree(folder / "meet")
    for job in jobs:
        keep(job, training, folder)
    return Played(statuses,
                  {job.machine.name: steps_of(job) for job in jobs},
                  {machine.name: difference(machine.rdma_counters(), before[machine.name])
                   for machine in pair},
                  folder / "records" if training.is_watched else None)


def while_running(jobs, seconds):
    """So long, unless one of them ends before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and all(job.running() for job in jobs):
        time.sleep(TICK)


def start(machine, rank, training, folder):
    words = [trainer(), "--meet", folder / "meet", "--rank", rank, "--ranks", 2,
             "--interface", "eth0", "--pattern", "dp", "--seconds", training.seconds,
             "--truth", folder / "truth" / f"{machine.name}.json", *training.options]
    if training.rdma:
        words += ["--rdma", "rxe0"]
    if training.is_watched:
        words = ["chokepoint", "run", "--out", f"/run/{folder.name}", "--node", machine.name,
                 "--label", "parallelism=DP", "--", *words]
    return machine.start(words)


def keep(job, training, folder):
    (folder / f"{job.machine.name}.out").write_text(job.stdout())
    (folder / f"{job.machine.name}.err").write_text(job.stderr())
    if training.is_watched:
        (folder / "records").mkdir(exist_ok=True)
        job.machine.run(["sh", "-c", f"cp /run/{folder.name}/* {folder}/records/"])


def steps_of(job):
    return [float(found) for found in STEP.findall(job.stdout())]


def difference(after, before):
    return {name: after[name] - before[name] for name in after if after[name] != before[name]}
