"""What `scripts/bench endurance` measures at length, in short: kills of chokepoint around a real Gloo
job, each fault once, some dozens of hostile peers."""

import argparse
import pathlib
import sys

from checks import holds

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "endurance"))

import fault_kinds  # noqa: E402
import fault_part  # noqa: E402
import hostile_kinds  # noqa: E402
import hostile_part  # noqa: E402
import kill_part  # noqa: E402

KILLS = 12


def asked(lab, **words):
    return argparse.Namespace(seed=1, lanes=4, torch_share=0, only="*",
                              chokepoint=pathlib.Path(lab.programs[0], "chokepoint"), **words)


def nothing(results):
    """Of the progress."""


def unharmed(part):
    holds(not part["complaints"], "\n".join(part["complaints"]))
    return part


def measure_kills_around_a_real_job(lab):
    part = unharmed(kill_part.measure(asked(lab, kills=KILLS), lab, nothing))
    holds(part["kills"] == KILLS, f"{part['kills']} kills")
    holds(part["held_against_time"] > 0, "no record was held against the time of its kill")


def measure_each_fault_once(lab):
    part = unharmed(fault_part.measure(asked(lab, faults=1), lab, nothing))
    holds(len(part["kinds"]) == len(fault_kinds.KINDS), f"only {list(part['kinds'])}")


def measure_hostile_peers_keep_nobody_out(lab):
    kinds = len(hostile_kinds.KINDS)
    part = unharmed(hostile_part.measure(asked(lab, hostile=kinds), lab, nothing))
    holds(len(part["kinds"]) == kinds, f"only {list(part['kinds'])}")
