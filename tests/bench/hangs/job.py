#!/usr/bin/env python3
"""One rank of a job over Gloo that comes to a fault at a given step, and whose Flight Recorder is
dumped once the file `dump` lies in the folder. play.py starts one for each rank:

    job.py FOLDER FAULT RANK_AT_FAULT STEP

Each step has calls in four groups of ranks: all of them, all of them once more, pairs, and each
second one.
"""

import datetime
import os
import pathlib
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FOLDER, FAULT, AT, STEP = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def dump_when_asked():
    while not (FOLDER / "dump").exists():
        time.sleep(0.1)
    half = FOLDER / f"dump_rank_{RANK}.half"
    half.write_bytes(torch._C._distributed_c10d._dump_fr_trace())
    half.rename(FOLDER / f"dump_rank_{RANK}")


def reduce_all(group, size=1000, kind=torch.float32):
    dist.all_reduce(torch.ones(size, dtype=kind), group=group)


def gather_all(group):
    parts = [torch.zeros(64) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, torch.ones(64), group=group)


def send_first(group):
    first = dist.get_process_group_ranks(group)[0]
    dist.broadcast(torch.ones(500), src=first, group=group)


def step_of(number, pair, second, other):
    """The calls of a step, in order."""
    calls = [lambda: reduce_all(pair), lambda: reduce_all(second, 2000), lambda: send_first(None),
             lambda: reduce_all(other, 300), lambda: reduce_all(None)]
    return calls if number % 4 else [*calls, lambda: gather_all(None)]


def come_to_fault(calls, pair, other):
    """The calls of the step at which the rank does something else than the others."""
    if FAULT == "stuck":
        while True:
            time.sleep(0.01)
    if FAULT == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if FAULT == "skip":
        return calls[:4] + calls[5:]
    if FAULT == "skip-pair":
        return calls[1:]
    if FAULT == "order":
        return [*calls[:3], calls[4], calls[3]]
    if FAULT == "sizes":
        return [*calls[:4], lambda: reduce_all(None, 1700)]
    if FAULT == "types":
        return [*calls[:4], lambda: reduce_all(None, 1000, torch.float64)]
    if FAULT == "kinds":
        return [*calls[:3], lambda: send_first(other), *calls[4:]]
    return calls


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=300))
    everyone = range(WORLD)
    other = dist.new_group(list(everyone))
    pairs = [dist.new_group([first, first + 1]) for first in range(0, WORLD, 2)]
    seconds = [dist.new_group(list(everyone)[first::2]) for first in range(2)]
    pair, second = pairs[RANK // 2], seconds[RANK % 2]
    threading.Thread(target=dump_when_asked, daemon=True).start()
    try:
        for number in range(10**6):
            if number == STEP and RANK == AT:
                (FOLDER / "fault").touch()
            calls = step_of(number, pair, second, other)
            if number == STEP and RANK == AT:
                calls = come_to_fault(calls, pair, other)
            for call in calls:
                call()
            time.sleep(0.005)
    except RuntimeError as error:
        print(f"rank {RANK}: {error}", flush=True)
        while True:
            time.sleep(1)


main()
