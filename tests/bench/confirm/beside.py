"""What tests of a running job cost it: pairs of plays of one job on a full link, both with the
consent to tests and with servers on its hosts, one of them tested, the other one not."""

import dataclasses
import json
import pathlib
import statistics
import tempfile

import kept
import paired
import scenario
from confirmed import Confirmed
from training import WARM_UP_STEPS

SCENARIO = "lan-200mbps"
BEGIN_STEPS = 20
ORDERS = ((False, True), (True, False))


class Untested(Confirmed):
    """The servers are there before the job, in both plays."""

    process = None

    def watch(self, jobs):
        with self.serving() as self.key:
            super().watch(jobs)
            if self.process:
                self.process.wait(60)

    def confirm(self, *options):
        """Not after the job."""


class Tested(Untested):
    def look(self, steps):
        if self.process is None and steps >= BEGIN_STEPS:
            self.process = self.hosts()[0].start(
                ["chokepoint", "diagnose", self.records, "--confirm", "--key-file", self.key,
                 "--confirm-time", "10m", "--json"])


def job(percent, seconds):
    one = scenario.read(scenario.FOLDER / f"{SCENARIO}.toml")
    options = {**one.job.options, "seconds": seconds}
    return dataclasses.replace(one, job=dataclasses.replace(one.job, options=options)), (
        "--allow-probes", f"{percent:g}%")


def play(build, one, options, is_tested):
    player = type("Player", (Tested if is_tested else Untested,), {"run_options": options})
    with tempfile.TemporaryDirectory(prefix="beside-") as folder:
        result = kept.play(one, pathlib.Path(folder) / "play", build, player=player)
        file = result.records / "confirmation.json"
        tests = json.loads(file.read_text()) if file.exists() else {"cost_s": 0, "tests": []}
    return {"step_ms": statistics.mean(result.steps_ms[WARM_UP_STEPS:]),
            "seconds": sum(result.steps_ms) / 1e3, "cost_s": tests["cost_s"],
            "tests": sum(test["document"] is not None for test in tests["tests"])}


def measure(build, percent, seconds, count, say):
    one, options = job(percent, seconds)
    pairs = []
    for number in range(count):
        pair = {is_tested: play(build, one, options, is_tested)
                for is_tested in ORDERS[number % 2]}
        pairs.append({"alone": pair[False], "watched": pair[True]})
        tested = pair[True]
        say(f"pair {number + 1}: untested {pair[False]['step_ms']:.2f} ms a step, tested "
            f"{tested['step_ms']:.2f} ms, {tested['tests']} tests, which cost {tested['cost_s']:.2f} s "
            f"of {tested['seconds']:.0f} s")
    return {"percent": percent, "pairs": pairs, "step_ratio": paired.ratio(pairs, "step_ms")}


def text(found):
    ratio = found["step_ratio"]
    costs = [100 * pair["watched"]["cost_s"] / pair["watched"]["seconds"]
             for pair in found["pairs"]]
    return (f"allowed {found['percent']:g} %, {ratio['count']} pairs: a step tested over one untested "
            f"{ratio['median']:.4f} ({ratio['low']:.4f} to {ratio['high']:.4f}); untested "
            f"{ratio['alone']:.2f} ms; tests cost {statistics.median(costs):.2f} % of the job's time")
