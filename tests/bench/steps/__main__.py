"""usage: steps [--minutes] [--keep FOLDER] [--out FILE] CHOKEPOINT [PATTERN-MILLISECONDS]…

How true the steps are that `chokepoint run` tells from packets alone: jobs of known step times,
from 20 ms to 10 s (with --minutes to 30 s), patterns dp, tp and pp, and PyTorch's DDP. Prints a row
for each job and source. The mean is held against the true mean of the span that the rows cover, the
median against the true one; a row is wrong that does not cover one step, give or take a quarter.
FILE gets the document, FOLDER the records and the truth. Nothing fails by what is measured.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import time

for folder in ("probes", "../lab"):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / folder))

import trials  # noqa: E402
from bench import say  # noqa: E402
from lab import Failed, Lab, Skipped  # noqa: E402
from trials import Trial  # noqa: E402
from watched_trial import WatchedTrial  # noqa: E402

HEAD = "job        steps   true ms  vary  source        told  mean ms     off   median    off  wrong"


def arguments():
    parser = argparse.ArgumentParser(prog="steps", usage=__doc__.split("\n\n")[0][len("usage: "):])
    parser.add_argument("--minutes", action="store_true", help="also steps of 30 s")
    parser.add_argument("--keep", help="a folder for the records")
    parser.add_argument("--out", default="steps.json")
    parser.add_argument("chokepoint")
    parser.add_argument("jobs", nargs="*")
    asked = parser.parse_intermixed_args()
    asked.chokepoint = os.path.abspath(asked.chokepoint)
    names = asked.jobs or [*trials.USUAL, *(trials.MINUTES if asked.minutes else ())]
    try:
        asked.jobs = [Trial.of(name) for name in names]
    except ValueError as mistake:
        parser.error(str(mistake))
    return asked


class Jobs:
    """Those that take long go on beside the others, which are played one after the other."""

    def __init__(self, lab, jobs, keep):
        self.lab, self.keep = lab, keep
        self.long = [job for job in jobs if job.is_long]
        self.short = [job for job in jobs if not job.is_long]
        self.found, self.without = {}, {}

    def play(self):
        played = [WatchedTrial(self.lab, job) for job in self.long]
        for job in self.short:
            try:
                self.end(WatchedTrial(self.lab, job))
            except Skipped as reason:
                self.without[job.name] = str(reason)
                say(f"{job.name}: {reason}")
        for trial in played:
            self.end(trial)

    def end(self, trial):
        name = trial.trial.name
        try:
            self.found[name] = trial.figures()
            print(rows(name, self.found[name]), flush=True)
        except Failed as reason:
            say(f"{name}: {reason}")
            self.without[name] = str(reason)
        if self.keep:
            shutil.copytree(trial.folder, pathlib.Path(self.keep, name), dirs_exist_ok=True)


def rows(name, job):
    lines = []
    for source, found in job["sources"].items():
        begin = f"{name:9} {job['steps']:6} {job['true_ms']:9.2f} {job['spread_percent']:4.1f}%  "
        lines.append(begin + (f"{source:11}  nothing" if found is None else
                              f"{source:11} {found['told_percent']:5.1f}% {found['mean_ms']:8.2f} "
                              f"{found['off_percent']:+6.2f}% {found['median_ms']:8.2f} "
                              f"{found['median_off_percent']:+6.2f}% {found['wrong']:5}"))
    return "\n".join(lines)


def main():
    asked = arguments()
    document = {"schema": "chokepoint.bench.steps/1",
                "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "machine": {"kernel": os.uname().release, "processors": os.cpu_count(),
                            "load": os.getloadavg()[0], "rate_mbps": trials.RATE_MBPS}}
    print(HEAD)
    with Lab([pathlib.Path(asked.chokepoint).parent]) as lab:
        jobs = Jobs(lab, asked.jobs, asked.keep)
        jobs.play()
    document.update(parts={"jobs": jobs.found}, without=jobs.without)
    pathlib.Path(asked.out).write_text(json.dumps(document, indent=1) + "\n")
    return 1 if jobs.without else 0


if __name__ == "__main__":
    sys.exit(main())
