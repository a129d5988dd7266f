"""usage: agreement_test.py PROGRAM

What commands say of one run, held against each other: the same figure has the same value in every
document, parts sum to their whole, and no part is more than it. One stored play of each kind of
fault.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench" / "attribution"))

import store  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.path.abspath(sys.argv.pop(1))
CLOSE = 1e-6  # of a figure: sums of the same numbers in another order


def smallest_of_each_kind(plays):
    chosen = {}
    for play in sorted(plays, key=lambda play: (play.bytes, play.name)):
        chosen.setdefault(play.kind, play)
    return list(chosen.values())


def document(*arguments):
    ran = subprocess.run([PROGRAM, *map(str, arguments), "--json"], capture_output=True, text=True,
                         timeout=120)
    if ran.returncode not in (0, 3):
        raise AssertionError(f"{arguments}: {ran.returncode}: {ran.stderr[-400:]}")
    return json.loads(ran.stdout)


def gauges(folder):
    """Of Prometheus' format: {name with labels: value}."""
    ran = subprocess.run([PROGRAM, "export", "--to", "prometheus", str(folder)],
                         capture_output=True, text=True, timeout=120, check=True)
    return {name: float(value) for name, value in re.findall(
        r"^(chokepoint_\w+(?:\{[^}\n]*\})?) (\S+)$", ran.stdout, re.MULTILINE)}


ADVISED = re.compile(r"\(predicted: (\S+) (ms|s) a step .*: chokepoint predict --from (.+) "
                     r"(--\w+) (\S+)$")


class Documents:
    """All that is said of one run."""

    def __init__(self, name, folder):
        self.name = name
        self.diagnosis = document("diagnose", folder)
        self.listed = document("runs", folder)["runs"][0]
        self.compared = document("compare", folder)["runs"][0]
        self.live = document("live", folder, "--once")["diagnosis"]
        self.report = document("report", folder)["diagnosis"]
        self.shown = document("record", "show", folder)
        self.exported = gauges(folder)
        self.foretold = [(float(told) * (1 if unit == "ms" else 1e3),
                          document("predict", "--from", folder, option, value)["step_ms"])
                         for told, unit, _, option, value in self.predictions()]

    def predictions(self):
        """Of the verdict's advice, as the command would make them."""
        return [found.groups() for advice in self.diagnosis["verdict"]["advice"]
                if (found := ADVISED.search(advice))]

    @property
    def step_ms(self):
        return self.diagnosis["steps"]["mean_ms"]

    @property
    def accounts(self):
        return self.diagnosis["accounting_ms_per_step"]

    def figure(self, name):
        return (self.compared["figures"][name] or {}).get("value")

    def gauge(self, name):
        """The only one of that name."""
        found = [value for key, value in self.exported.items()
                 if key.split("{")[0] == f"chokepoint_{name}"]
        return found[0] if len(found) == 1 else None


def documents_of_plays():
    corpus = store.Corpus(HERE)

    def read(play):
        with corpus.opened(play) as case:
            return Documents(play.name, case.folder / "records")
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(read, smallest_of_each_kind(corpus.plays())))


class Agreement(unittest.TestCase):
    play = "all plays"

    @classmethod
    def setUpClass(cls):
        cls.runs = documents_of_plays()

    def each(self, accounted=True):
        """Runs whose steps' time is accounted for; what fails names the one."""
        for run in self.runs:
            if not accounted or run.accounts:
                self.play = run.name
                yield run

    def _formatMessage(self, msg, standardMsg):
        return f"{self.play}: {super()._formatMessage(msg, standardMsg)}"

    def equal(self, one, other):
        if one is None or other is None:
            self.assertEqual(one, other)
        else:
            self.assertAlmostEqual(one, other, delta=CLOSE * max(1, abs(one)))

    def test_most_plays_are_accounted_for(self):
        self.assertGreater(sum(bool(run.accounts) for run in self.runs), 15)

    def test_a_step_takes_as_long_wherever_it_is_told(self):
        for run in self.each(accounted=False):
            self.equal(run.step_ms, run.listed["step_ms"])
            self.equal(run.step_ms, run.figure("step_ms"))
            self.equal(run.step_ms, run.shown["steps"]["mean_ms"])
            self.equal(run.step_ms and run.step_ms / 1e3, run.gauge("step_mean_seconds"))

    def test_so_do_its_quantiles_and_the_number_of_steps(self):
        for run in self.each(accounted=False):
            steps = run.diagnosis["steps"]
            self.equal(steps["median_ms"], run.figure("median_step_ms"))
            self.equal(steps["p99_ms"], run.figure("p99_step_ms"))
            self.assertEqual(steps, run.shown["steps"])
            self.assertEqual(steps, run.live["steps"])
            self.assertEqual(steps["count"], run.listed["steps"])
            self.assertEqual(steps["count"], run.compared["steps"]["count"])

    def test_one_verdict(self):
        for run in self.each(accounted=False):
            verdict = run.diagnosis["verdict"]
            self.assertEqual(verdict["class"], run.listed["verdict"])
            self.assertEqual(verdict["class"], run.compared["verdict"]["class"])
            self.assertEqual(verdict, run.live["verdict"])
            self.assertEqual(verdict, run.report["verdict"])
            if run.accounts:
                self.equal(verdict["lost_ms_per_step"], run.figure("lost_ms"))

    def test_a_run_takes_as_long_wherever_it_is_told(self):
        for run in self.each(accounted=False):
            self.equal(run.listed["duration_s"], run.figure("duration_s"))
            self.equal(run.listed["duration_s"], run.shown["duration_s"])
            self.equal(run.shown["volume"]["network_mbps"], run.figure("network_mbps"))

    def test_accounts_sum_to_the_step(self):
        for run in self.each():
            self.equal(sum(run.accounts.values()), run.step_ms)
            self.assertEqual(run.accounts, run.compared["accounting_ms_per_step"])
            self.assertEqual(run.accounts, run.report["accounting_ms_per_step"])
            for account, ms in run.accounts.items():
                self.assertGreaterEqual(ms, -CLOSE * run.step_ms, account)

    def test_each_rank_fills_the_step(self):
        for run in self.each():
            for rank in run.diagnosis["ranks"]:
                parts = ("computing_ms", "waiting_ms", "communicating_ms")
                self.equal(sum(rank[part] for part in parts), run.step_ms)

    def test_what_is_lost_is_a_part_of_the_step(self):
        for run in self.each():
            for verdict in [run.diagnosis["verdict"], *run.diagnosis["others"]]:
                lost = verdict["lost_ms_per_step"]
                self.assertLessEqual(verdict["lost_low_ms"], lost)
                self.assertLessEqual(lost, verdict["lost_high_ms"])
                self.assertLessEqual(verdict["lost_high_ms"], run.step_ms * (1 + CLOSE))
                if lost > 0:  # else of computing
                    self.equal(verdict["share_percent"], 100 * lost / run.step_ms)

    def test_an_account_gives_no_more_than_it_has(self):
        for run in self.each():
            for what_if in run.diagnosis["what_ifs"]:
                self.equal(what_if["step_ms"] + what_if["gained_ms"], run.step_ms)
                self.assertLessEqual(what_if["gained_ms"],
                                     run.accounts[what_if["account"]] * (1 + CLOSE))

    def test_advice_says_what_its_command_predicts(self):
        self.assertTrue(any(run.foretold for run in self.runs))
        for run in self.each():
            for told_ms, predicted_ms in run.foretold:
                self.assertAlmostEqual(told_ms, predicted_ms, delta=0.006 * predicted_ms)

    def test_the_critical_path_is_as_long_as_its_parts(self):
        for run in self.each():
            path = run.diagnosis["critical_path"]
            if path:
                parts = sum(part["ms"] for part in path["parts"])
                self.assertAlmostEqual(parts, path["length_ms"], delta=1e-3 * path["length_ms"])


if __name__ == "__main__":
    unittest.main()
