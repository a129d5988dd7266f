"""diagnose --confirm: real training under a known fault, and the verdict put to the test on its
hosts once the job is over, or while it runs."""

import dataclasses
import json
import pathlib
import tempfile

import scenario
from checks import holds, same
from confirmed import Confirmed

ALLOWED_PERCENT = 20


class AfterTheJob(Confirmed):
    def confirm(self, *options):
        refused = self.hosts()[0].run(["chokepoint", "diagnose", self.records, "--confirm"],
                                      status=1)
        holds("start 'chokepoint serve --key-file FILE' on" in refused.stderr(),
              f"nobody is told to start servers: {refused.stderr()}")
        super().confirm(*options)
        holds(self.told, f"no verdict: {self.refusal}")


class WhileItRuns(Confirmed):
    """Once the record is some seconds old; `kept` is what lies beside it then."""

    run_options = ("--allow-probes", f"{ALLOWED_PERCENT}%")
    begins_after_steps = 25
    kept = None

    def look(self, steps):
        if self.kept is None and steps >= self.begins_after_steps:
            super().confirm("--confirm-time", "20s")
            holds(self.told, f"no verdict: {self.refusal}")
            self.kept = json.loads((self.records / "confirmation.json").read_text())

    def confirm(self, *options):
        """Not once more after the job."""


def confirmed(lab, one, is_fault_over=False):
    """The document; a later diagnosis and a report say the same."""
    if isinstance(one, str):
        one = scenario.read(scenario.FOLDER / f"{one}.toml")
    with tempfile.TemporaryDirectory(prefix="confirm-") as folder:
        player = AfterTheJob(lab, one, pathlib.Path(folder), is_watched=True)
        player.is_fault_over = is_fault_over
        records = player.play().records
        host = player.stage.hosts[player.scenario.hosts[0]]
        later = host.json(["chokepoint", "diagnose", records, "--json"])
        report = host.json(["chokepoint", "report", records, "--json"])
        for what in ("state", "sentence"):
            same(later["confirmation"][what], player.told["confirmation"][what], f"later {what}")
            same(report["diagnosis"]["confirmation"][what], later["confirmation"][what],
                 f"{what} of the report")
        same(player.told["verdict"]["class"], one.truth["class"], "class")
        same(later["verdict"]["confidence"], player.told["verdict"]["confidence"], "confidence")
        return player.told


def narrow():
    """So narrow that what else the machine does is not what holds the job back."""
    one = scenario.read(scenario.FOLDER / "lan-200mbps.toml")
    return dataclasses.replace(one, fault={**one.fault, "there": {"rate_mbps": 40}})


def test_a_narrow_link_is_confirmed(lab):
    told = confirmed(lab, narrow())
    same(told["confirmation"]["state"], "confirmed", told["confirmation"]["sentence"])
    holds("probe tcp carries" in told["confirmation"]["sentence"], "what was measured is not said")
    holds(told["verdict"]["confidence"] >= told["confirmation"]["confidence_before"],
          "the confidence fell")


def test_a_link_that_was_narrow_only_during_the_job_is_not_confirmed(lab):
    told = confirmed(lab, narrow(), is_fault_over=True)
    same(told["confirmation"]["state"], "not-confirmed", told["confirmation"]["sentence"])
    holds(told["verdict"]["confidence"] < told["confirmation"]["confidence_before"],
          "the confidence did not fall")


def test_a_late_rank_is_confirmed(lab):
    told = confirmed(lab, "late-rank-dp")
    same(told["confirmation"]["state"], "confirmed", told["confirmation"]["sentence"])


def test_a_healthy_job_is_confirmed(lab):
    told = confirmed(lab, "clean-dp")
    holds(told["confirmation"]["state"] != "not-confirmed", told["confirmation"]["sentence"])


def test_a_slow_disk_is_confirmed(lab):
    """The servers are as slow there as the job was."""
    one = scenario.read(scenario.FOLDER / "input-page-cache.toml")
    roomy = dataclasses.replace(one.job, data={**one.job.data, "spare_mb": 800})
    told = confirmed(lab, dataclasses.replace(one, job=roomy))
    same(told["confirmation"]["state"], "confirmed", told["confirmation"]["sentence"])


def test_a_late_rank_is_confirmed_while_the_job_runs(lab):
    one = scenario.read(scenario.FOLDER / "late-rank-dp.toml")
    longer = dataclasses.replace(one.job, options={**one.job.options, "seconds": 25})
    with tempfile.TemporaryDirectory(prefix="confirm-") as folder:
        player = WhileItRuns(lab, dataclasses.replace(one, job=longer), pathlib.Path(folder),
                             is_watched=True)
        records = player.play().records
        later = player.hosts()[0].json(["chokepoint", "diagnose", records, "--json"])
    told = player.told["confirmation"]
    same(told["state"], "confirmed", told["sentence"])
    holds("beside the job" in told["sentence"], f"it is not said when: {told['sentence']}")
    holds(all(test["beside_job"] for test in told["tests"]), "a test that says it ran alone")
    holds(player.kept["cost_s"] < ALLOWED_PERCENT / 100 * 25,
          f"the tests cost the job {player.kept['cost_s']} s")
    same(later["confirmation"]["state"], "confirmed", "later")
