"""What scripts/bench attribution plays, and how it holds verdicts against the truth."""

import json
import pathlib
import sys

import kept
import scenario
from checks import holds, near, same
from watched import Record

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench" / "attribution"))

import figures  # noqa: E402
import judging  # noqa: E402
import playing  # noqa: E402
import recordings  # noqa: E402
import strengths  # noqa: E402

ANSWER = """#!/bin/sh
echo '{"steps": {"mean_ms": 100}, "verdict": {"class": "lan-bandwidth", "cause": "line-rate",
  "where": {"from": "a", "to": "b", "rank": null}, "lost_ms_per_step": %s}, "others": []}'
"""


def test_every_scenario_of_the_sweep_has_a_truth(lab):
    named = strengths.every(seed=0)
    holds(len(named) >= 150, f"only {len(named)}")
    for _, one in named:
        same(bool(one.fault), one.truth["class"] != "compute", f"{one.name} has a fault")
    names = [one.name for _, one in named]
    same(len(names), len(set(names)), "names")
    same([one.name for _, one in strengths.every(seed=3)], names, "names of another seed")
    holds([one.fault for _, one in strengths.every(3)] != [one.fault for _, one in named],
          "another seed has other strengths")


def test_the_first_ones_that_are_played_are_of_all_kinds(lab):
    named = strengths.every(seed=0)
    bases = {one.name: base for base, one in named}
    dealt = playing.dealt(named, 5)
    same(sorted(one.name for one in dealt), sorted(bases), "all are played")
    kinds = len(set(bases.values()))
    same(len({bases[one.name] for one in dealt[:kinds]}), kinds, "kinds among the first")


def test_faults_share_a_healthy_twin_where_they_begin_from_the_same(lab):
    setup = {one.name: playing.setup_of(one) for _, one in strengths.every(seed=0)}
    same(setup["lan-loss-from-b"], setup["lan-loss-05"], "the same link and job")
    holds(setup["lan-loss-02"] != setup["lan-loss-05"], "other jobs share a twin")


def test_a_place_is_right_where_all_that_the_truth_names_is_named(lab):
    for truth, where, is_right in (
            ({"from": "a", "to": "b"}, {"from": "a", "to": "b"}, True),
            ({"from": "a", "to": "b"}, {"from": "b", "to": "a"}, False),
            ({"from": "b", "to": "c", "direction": "both"},
             {"from": "c", "to": "b", "direction": "both"}, True),
            ({"direction": "both"}, {"from": "a", "to": "b"}, False),
            ({"rank": 0}, {"rank": 0}, True), ({"rank": 0}, {"rank": None}, False),
            ({"node": "c"}, {"from": "b", "to": "c"}, True),
            ({"node": "c"}, {"from": "b", "to": "a"}, False)):
        same(judging.place_is_right(truth, where), is_right, f"{where} of {truth}")


def written(folder, name, steps_ms, truth):
    (folder / name / "records").mkdir(parents=True)
    (folder / name / "truth.json").write_text(json.dumps(
        {"truth": truth, "fault": {}, "steps_ms": [900, 900, *steps_ms], "exit_statuses": {"a": 0},
         "spent": {}}))


def test_lost_time_is_held_against_the_twin(lab):
    truth = {"class": "lan-bandwidth", "cause": "line-rate", "from": "a", "to": "b"}
    written(lab.folder, "slow", [200, 220, 240], truth)
    written(lab.folder, "slow.twin", [100, 100, 106], {"class": "compute"})
    written(lab.folder, "unseen", [100, 108, 110], truth)
    written(lab.folder, "unseen.twin", [100, 100, 106], {"class": "compute"})
    slow, unseen = recordings.below(lab.folder)[0][:2]
    near(slow.lost_ms("mean_ms"), 118, 1e-9, "lost")
    same([slow.twin.is_calm(), slow.is_calm()], [True, True], "no step is much longer")
    written(lab.folder, "stalled", [100, 100, 106, 100, 700], truth)
    holds(not recordings.read(lab.folder / "stalled").is_calm(), "a stall is calm")
    holds("does not show" in (unseen.why_no_scenario() or ""), "what does not show is a scenario")
    slow.document["exit_statuses"] = {"a": 1}
    holds("failed" in (slow.why_no_scenario() or ""), "a job that failed is a scenario")
    slow.document["exit_statuses"] = {"a": 0}
    for told, is_right in ((105, True), (135, True), (98, False), (140, False)):
        answer = lab.folder / "answer"
        answer.write_text(ANSWER % told)
        answer.chmod(0o755)
        found = judging.judged(answer, slow)
        same([found["class_right"], found["place_right"], found["lost"]["right"]],
             [True, True, is_right], f"{told} ms")
        same(figures.reasons(found), [] if is_right else ["lost"], "what is wrong")


def test_no_diagnosis_is_no_right_one(lab):
    written(lab.folder, "well", [100, 100, 106], {"class": "compute"})
    [well], _ = recordings.below(lab.folder)
    found = judging.judged("false", well)
    same([found["told"]["class"], found["class_right"]], ["no-answer", False], "no answer")
    same(figures.of([found])["alarms"], {"right": 1, "of": 1, "share": 1}, "alarms")


def test_probes_before_a_job_and_a_look_at_it_are_kept(lab):
    one = scenario.made("probed", {
        "about": "", "topology": {"hosts": ["a", "b"], "links": [
            {"name": "lan", "between": ["a", "b"], "there": {"rate_mbps": 1000}}]},
        "job": {"program": "trainer", "pattern": "dp", "bytes": 100_000, "compute_ms": 40,
                "seconds": 2}, "truth": {"class": "compute"}, "expected": {},
        "baseline": {"probes": ["tcp"]}})
    folder = lab.folder / "kept"
    kept.play(one, folder, pathlib.Path(lab.programs[0]), player=playing.EarlyToo)
    with Record.of(folder / "records", "a") as record:
        families = [json.loads(row["document"])["peer"]["family"]
                    for row in record.rows("SELECT document FROM probe")]
        whole = record.value("SELECT count(*) FROM step")
    same(families, ["ipv4", "ipv6"], "probed")
    with Record.of(folder / judging.EARLY, "a") as record:
        holds(0 < record.value("SELECT count(*) FROM step") < whole, "steps of an early look")
