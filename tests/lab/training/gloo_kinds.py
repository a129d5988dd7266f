#!/usr/bin/env python3
"""usage: gloo_kinds.py RANK RANKS ADDRESS PORT [--largest BYTES] [--two-groups]

One rank of a job that performs each kind of collective Gloo has, over and over in a fixed order,
and prints what it did: a JSON line each, with this host's wall clock before and after. `ordinal` is
what PyTorch counts in the process group, and what Gloo's headers carry as their tag.
GLOO_SOCKET_IFNAME says which interface Gloo takes.

Rank 1 sleeps before each one that says so, so that a late rank can be told from a slow network.
"""

import argparse
import json
import time

import torch
import torch.distributed as dist

SMALL = 4
MIDDLE = 300_000
LATE_S = 0.03


def tensor(size):
    return torch.ones(size // 4, dtype=torch.float32)


def tensors(size, ranks):
    return [tensor(size) for _ in range(ranks)]


def all_to_all(size, ranks, group):
    dist.all_to_all_single(tensor(size * ranks), tensor(size * ranks), group=group)


def gather(size, ranks, rank, group):
    dist.gather(tensor(size), tensors(size, ranks) if rank == 0 else None, dst=0, group=group)


def scatter(size, ranks, rank, group):
    dist.scatter(tensor(size), tensors(size, ranks) if rank == 0 else None, src=0, group=group)


def send_and_receive(size, rank):
    if rank == 0:
        dist.send(tensor(size), dst=1, tag=77)
    elif rank == 1:
        dist.recv(tensor(size), src=0, tag=77)


def perform_one(kind, size, rank, ranks, group):
    """Performs one. `size` is of the whole tensor, or of what one rank has of it."""
    {
        "all_reduce": lambda: dist.all_reduce(tensor(size), group=group),
        "all_gather": lambda: dist.all_gather(tensors(size, ranks), tensor(size), group=group),
        "broadcast": lambda: dist.broadcast(tensor(size), src=0, group=group),
        "reduce": lambda: dist.reduce(tensor(size), dst=0, group=group),
        "gather": lambda: gather(size, ranks, rank, group),
        "scatter": lambda: scatter(size, ranks, rank, group),
        "barrier": lambda: dist.barrier(group=group),
        "all_to_all": lambda: all_to_all(size, ranks, group),
        "send": lambda: send_and_receive(size, rank),
    }[kind]()


def plan(largest):
    """What is done, in order: kind, bytes, whether rank 1 comes late."""
    kinds = ["all_reduce", "all_gather", "broadcast", "reduce", "gather", "scatter", "all_to_all"]
    for size in (SMALL, MIDDLE):
        for kind in kinds:
            yield kind, size, False
        yield "barrier", 0, False
    yield "all_reduce", largest, False
    yield "broadcast", MIDDLE, True
    yield "all_reduce", MIDDLE, True
    yield "send", MIDDLE, False
    yield "barrier", 0, False


def perform(order, rank, ranks, group_number, group):
    ordinal = 0
    for kind, size, late in order:
        if late and rank == 1:
            time.sleep(LATE_S)
        before = time.time_ns()
        perform_one(kind, size, rank, ranks, group)
        print(json.dumps({"group": group_number, "ordinal": None if kind == "send" else ordinal,
                          "kind": kind, "bytes": size, "rank": rank,
                          "late_rank": 1 if late else None,
                          "begun_ns": before, "ended_ns": time.time_ns()}), flush=True)
        ordinal += kind != "send"


def main():
    words = argparse.ArgumentParser()
    words.add_argument("rank", type=int)
    words.add_argument("ranks", type=int)
    words.add_argument("address")
    words.add_argument("port", type=int)
    words.add_argument("--largest", type=int, default=8 << 20)
    words.add_argument("--two-groups", action="store_true")
    given = words.parse_args()
    dist.init_process_group("gloo", rank=given.rank, world_size=given.ranks,
                            init_method=f"tcp://{given.address}:{given.port}")
    perform(plan(given.largest), given.rank, given.ranks, 0, None)
    if given.two_groups:
        second = dist.new_group(range(given.ranks))
        perform([("all_reduce", MIDDLE, False), ("barrier", 0, False)],
                given.rank, given.ranks, 1, second)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
