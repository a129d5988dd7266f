"""A run replayed with one thing changed takes what the job takes when that is changed; and what
scripts/bench replay draws is what it says."""

import pathlib
import sys
import tempfile

import scenario
from checks import holds, near, same
from training import Player

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / "bench" / each)
                for each in ("replay", "attribution")]

import pairs  # noqa: E402

SECONDS = 4
LATE_MS = 60


def played(lab, late_ms, folder):
    one = scenario.made("late", {
        "about": "a rank that is late", "truth": {"class": "compute"}, "expected": {},
        "topology": {"hosts": ["a", "b"],
                     "links": [{"name": "lan", "between": ["a", "b"], "there": {"rate_mbps": 1000}}]},
        "job": {"program": "trainer", "pattern": "dp", "bytes": 4_000_000, "compute_ms": 60,
                "seconds": SECONDS, "late_rank": 1, "late_ms": late_ms}})
    return Player(lab, one, pathlib.Path(folder), is_watched=True).play()


def test_a_run_without_its_late_rank(lab):
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        late = played(lab, LATE_MS, folder)
        told = lab.host("c").json(
            ["chokepoint", "predict", "--from", late.records, "--late", "0", "--json"])
    same(told["method"], "replay", "method")
    near(late.usual_ms - told["step_ms"], LATE_MS, 0.3, "ms gained without lateness")


def test_a_pair_differs_by_one_thing(lab):
    for pair in pairs.pairs("test", 60):
        wires = [one.links["lan"].there for one in (pair.before, pair.after)]
        jobs = [one.job for one in (pair.before, pair.after)]
        same((wires[0] != wires[1], jobs[0] != jobs[1]),
             (pair.change in ("rate", "delay", "loss"), pair.change in ("late", "bucket")),
             f"{pair.name}: what differs")
    holds({pair.change for pair in pairs.pairs("test", 60)} ==
          {"rate", "delay", "late", "loss", "bucket"}, "a kind of change is never drawn")
