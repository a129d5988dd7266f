"""What must hold of a played scenario is found out where it does not: made-up runs, each wrong in
one way."""

import copy

import played_checks
import scenario
from checks import holds, same
from lab import Failed
from training import Played

COUNTERS = {"sent_bytes": 1_000_000, "sent_packets": 100, "sent_segments": 700}
SENT = 1_000_000 + 600 * 66


def node(name):
    return {"name": name, "complete": True, "damage": None, "exit_status": 0,
            "steps": {"source": "output", "count": 39},
            "volume": {"sent_bytes": SENT, "received_bytes": SENT}}


def right():
    return Played(steps_ms=[200.0] * 40, statuses={"a": 0, "b": 0},
                  counters={"a": COUNTERS, "b": COUNTERS}, seconds=8, records="records",
                  record={"unreadable": [], "labels": {"parallelism": "DP"},
                          "nodes": [node("a"), node("b")]},
                  spent={}, steps={"a": 40, "b": 40})


def wrong_ways():
    """Each changes what was right."""
    return {
        "too fast for its fault": lambda run: setattr(run, "steps_ms", [62.0] * 40),
        "too few steps": lambda run: setattr(run, "steps_ms", [200.0] * 4),
        "a rank failed": lambda run: run.statuses.update(b=1),
        "a node is missing": lambda run: run.record["nodes"].pop(),
        "another label": lambda run: run.record["labels"].update(parallelism="TP"),
        "another exit status": lambda run: run.record["nodes"][0].update(exit_status=1),
        "not complete": lambda run: run.record["nodes"][0].update(complete=False),
        "steps are missing": lambda run: run.record["nodes"][1]["steps"].update(count=35),
        "steps are guessed": lambda run: run.record["nodes"][1]["steps"].update(source="traffic"),
        "bytes are missing": lambda run: run.record["nodes"][1]["volume"].update(
            sent_bytes=0.97 * SENT),
        "bytes came twice": lambda run: run.record["nodes"][0]["volume"].update(
            received_bytes=2 * SENT),
    }


def judged(one, run):
    """Why the run proves nothing, or None."""
    try:
        played_checks.all_of(one, run)
    except Failed as reason:
        return str(reason)
    return None


def measure_a_run_that_is_wrong_in_one_way_is_found_out(lab):
    one = scenario.read(scenario.FOLDER / "lan-200mbps.toml")
    same(judged(one, right()), None, "what is right")
    for name, wrong in wrong_ways().items():
        run = copy.deepcopy(right())
        wrong(run)
        holds(judged(one, run) is not None, f"{name}: not found out")
