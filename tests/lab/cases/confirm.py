"""diagnose --confirm: real training under a known fault, and the verdict put to the test on its
hosts once the job is over."""

import dataclasses
import pathlib
import tempfile

import scenario
from checks import holds, same
from training import Player

PORT = 5210


class Confirmed(Player):
    """Between the end of the job and that of the fault the verdict is tested."""

    is_fault_over = False

    def watch(self, jobs):
        super().watch(jobs)
        for job in jobs.values():
            job.wait(60)
        if self.is_fault_over:
            self.fault.set(False, jobs)
        self.told = self.confirm()

    def confirm(self):
        key = self.folder / "key"
        key.write_text("a key of at least sixteen bytes\n")
        key.chmod(0o600)
        hosts = [self.stage.hosts[name] for name in self.scenario.hosts]
        refused = hosts[0].run(["chokepoint", "diagnose", self.records, "--confirm"], status=1)
        holds("start 'chokepoint serve --key-file FILE' on" in refused.stderr(),
              f"nobody is told to start servers: {refused.stderr()}")
        servers = [host.serve(["chokepoint", "serve", "--quiet", "--key-file", key], PORT)
                   for host in hosts]
        for server in servers:
            self.fault.slow_down(server)
        process = hosts[0].run(["chokepoint", "diagnose", self.records, "--confirm", "--key-file",
                                key, "--json"], timeout=200)
        for server in servers:
            server.stop()
        told = process.document()
        print(told["verdict"]["class"], told["confirmation"]["sentence"])
        for test in told["confirmation"]["tests"]:
            print(test["test"], test["says"], test["sentence"] or test["failure"])
        return told


def confirmed(lab, one, is_fault_over=False):
    """The document; a later diagnosis and a report say the same."""
    if isinstance(one, str):
        one = scenario.read(scenario.FOLDER / f"{one}.toml")
    with tempfile.TemporaryDirectory(prefix="confirm-") as folder:
        player = Confirmed(lab, one, pathlib.Path(folder), is_watched=True)
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
    holds(told["verdict"]["confidence"] < 0.6, "the confidence did not fall")


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
