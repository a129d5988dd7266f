"""A scenario played in a lab of its own, and what is left of it in a folder: the run records, and
apart from them, in truth.json, what really was."""

import json
import shutil

from lab import Lab
from training import Player


def play(one, folder, build, is_watched=True, player=Player, more=None):
    """`more`: other words for the truth."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with Lab([build]) as lab:
        result = player(lab, one, folder, is_watched).play()
    (folder / "truth.json").write_text(json.dumps({**truth(one, result), **(more or {})}, indent=1))
    return result


def truth(one, result):
    return {"name": one.name, "truth": one.truth, "fault": one.fault,
            "job": {"shape": one.job.shape, "ranks": len(one.ranks) * one.job.ranks_a_host},
            "steps_ms": result.steps_ms, "exit_statuses": result.statuses,
            "counters": result.counters, "spent": result.spent}
