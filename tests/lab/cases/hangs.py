"""Dumps of real jobs that stand still, without a record: the first sentence names the reason. All
faults are played by tests/bench/hangs/play.py."""

import pathlib
import sys

from checks import holds, same

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/hangs"))
import play  # noqa: E402

RANKS, STEP = 4, 6


def judged(lab, fault, rank):
    lab.needs("ip", "nsenter", "unshare")
    folder = lab.folder / fault
    folder.mkdir()
    play.play(folder, fault, RANKS, rank, STEP)
    document, sentence = play.diagnosed(f"{lab.programs[0]}/chokepoint", folder)
    holds(play.is_right(document["verdict"], fault, RANKS, rank), sentence)
    same(document["nodes"], [], "nodes without a record")
    return sentence


def test_a_rank_that_is_stuck_is_named(lab):
    holds("rank 2 has not come" in judged(lab, "stuck", 2), "the sentence")


def test_a_rank_that_is_gone_is_named(lab):
    judged(lab, "killed", 3)


def test_a_rank_that_enters_groups_in_another_order_is_named(lab):
    judged(lab, "order", 1)
