"""What scripts/bench attribution --draw plays: each kind of draw, many times, is a scenario whose fault
and truth are of its own hosts, links and ranks."""

import pathlib
import sys

import faults
from checks import holds, same

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench" / "attribution"))

import draw  # noqa: E402

PLAYS = 500
HOSTS = ("host", "from", "to", "node")  # of faults and truths


def every(kind):
    return [draw.play("test", number, [kind]) for number in range(PLAYS)]


def test_each_kind_is_of_its_own_hosts_links_and_ranks(lab):
    for kind in draw.NAMES:
        for one in every(kind):
            same(one.name.split("-")[3], kind, f"the kind of {one.name}")
            is_of_its_own(one)


def is_of_its_own(one):
    fault, truth = one.fault, one.truth
    same(not fault and "late_rank" not in one.job.options, truth["class"] == "compute",
         f"{one.name} is healthy")
    holds(not fault or fault["kind"] in faults.KINDS, f"{one.name}: {fault}")
    holds(fault.get("link", "lan") in one.links, f"{one.name}: {fault}")
    for named in (fault, truth):
        holds({named[word] for word in HOSTS if word in named} <= set(one.ranks),
              f"{one.name}: {named}")
    ranks = len(one.ranks) * one.job.ranks_a_host
    late = one.job.options.get("late_rank", 0)
    second = truth.get("second", {}).get("rank", late)
    told = [late, second, truth.get("rank", 0), *fault.get("ranks", [])]
    holds(max(told) < ranks and second == late, f"{one.name}: of {ranks} ranks {told}")


def test_shapes_are_drawn_healthy_and_faulty(lab):
    for kind in ("healthy", "narrow", "far", "lossy", "competing", "late"):
        seen = {one.job.options.get("shape") for one in every(kind)} - {None}
        same(seen, set(draw.SHAPES), f"shapes of {kind}")


def test_a_play_is_the_same_whatever_it_is_drawn_from(lab):
    for number in range(PLAYS):
        one = draw.play("test", number)
        same(draw.play("test", number, [one.name.split("-")[3]]), one, one.name)


def test_bytes_sent_by_rings_between_hosts(lab):
    """A ring of N ranks passes a host's link (N - 1) / N of what one round sends."""
    job = {"program": "ddp", "width": 1000, "depth": 1, "batch": 64, "bucket_mb": 25}
    pipeline = {**job, "program": "shapes", "shape": "gpipe", "micro": 4, "ranks_a_host": 2}
    fsdp = {**job, "program": "shapes", "shape": "fsdp"}
    average = {**job, "program": "shapes", "shape": "local-sgd", "every": 4}
    for told, wanted in ((job, 4e6), ({**job, "ranks_a_host": 2}, 6e6), (fsdp, 8e6), (average, 1e6),
                         (pipeline, 4 * 256_000)):
        same(draw.sent_bytes(told), wanted, f"bytes that {told} sends")
