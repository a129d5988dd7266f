"""What Slurm signals reaches a job as often as it would without chokepoint, however Slurm tracks a
step's processes: the same job runs alone, and then under `chokepoint run`."""

import pathlib
import sys

import cgroups
from checks import holds, same, soon
from cluster import Cluster
from slurm import Slurm

SIGNAL_LOG = pathlib.Path(__file__).resolve().parents[2] / "lab" / "jobs" / "signal_log.py"
READY_SECONDS, END_SECONDS = 30, 100
ENDS = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")
# How Slurm starts the job: as a step, or in the place of the batch script; and what it does to it
# from outside. The signals of the script are none of a step's.
FORMS = {"step": "srun {job}; true", "script": "exec {job}"}
CANCELS = {"step": {"scancel": [], "USR1": ["--signal=USR1"]},
           "script": {"scancel": [], "--full": ["--full", "--signal=USR1"],
                      "--batch": ["--batch", "--signal=USR1"]}}
WATCHED = "chokepoint run -q --"


class Jobs:
    def __init__(self, lab, tracking):
        self.slurm = Slurm(Cluster(lab, 2))
        self.slurm.track(tracking)
        self.slurm.start()
        self.folder = self.slurm.folder / "jobs"
        self.folder.mkdir()
        self.count = 0

    def start(self, form, prefix, seconds, options=()):
        """The job's number, and the file in which it says what it got; it ends after so many
        seconds without a signal."""
        self.count += 1
        folder = self.folder / str(self.count)
        folder.mkdir()
        told = folder / "told"
        job = f"{prefix} {sys.executable} {SIGNAL_LOG} {told} {seconds}"
        number = self.slurm.submit(["--ntasks=1", *options, "--output=/dev/null", "--wrap",
                                    FORMS[form].format(job=job)], folder)
        return number, told

    def await_ready(self, told):
        soon(lambda: told.exists() and told.read_text().count("ready") == 2, READY_SECONDS, "a job")

    def got(self, number, told):
        soon(lambda: self.slurm.job(number)["JobState"] in ENDS, END_SECONDS, f"job {number}")
        return sorted(line for line in told.read_text().splitlines() if "ready" not in line)


def signalled(jobs, form, prefix, options):
    number, told = jobs.start(form, prefix, seconds=2)
    jobs.await_ready(told)
    jobs.slurm.run(["scancel", *options, number])
    return jobs.got(number, told)


def compare_with_alone(lab, tracking):
    jobs = Jobs(lab, tracking)
    for form, cancels in CANCELS.items():
        for name, options in cancels.items():
            alone = signalled(jobs, form, "", options)
            holds(alone, f"{tracking}, {form}, {name}: no signal came")
            same(signalled(jobs, form, WATCHED, options), alone, f"{tracking}, {form}, {name}")
    return jobs


def test_signals_where_slurm_follows_parents(lab):
    compare_with_alone(lab, "linuxproc")


def test_signals_where_slurm_knows_process_groups(lab):
    compare_with_alone(lab, "pgid")


def test_signals_where_slurm_knows_cgroups(lab):
    jobs = compare_with_alone(lab, "cgroup")
    for node in jobs.slurm.nodes.values():
        node.stop()
    for name in jobs.slurm.nodes:
        (cgroups.first_version("freezer") / f"slurm_{name}").rmdir()


# To the steps; with B: to the script.
def test_the_signal_before_a_time_limit(lab):
    jobs = Jobs(lab, "linuxproc")
    forms = {"--signal=USR1@50": "step", "--signal=B:USR1@50": "script"}
    started = {(option, prefix): jobs.start(form, prefix, 45, [option, "--time=1"])
               for option, form in forms.items() for prefix in ("", WATCHED)}
    got = {key: jobs.got(*job) for key, job in started.items()}
    for option in forms:
        holds(got[option, ""], f"{option}: no signal came")
        same(got[option, WATCHED], got[option, ""], option)
