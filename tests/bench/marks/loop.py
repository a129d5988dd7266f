"""usage: loop.py none|marks STEPS | ranks RANKS SECONDS

The jobs that are measured. A loop of steps of 5 ms says as JSON what an empty block or a step mark
took in each, in microseconds. Ranks mark at the same moments, 200 times a second, and say nothing.
"""
import contextlib
import json
import os
import sys
import time

import chokepoint

STEP_S = 0.005


def work():
    end = time.perf_counter() + STEP_S
    while time.perf_counter() < end:
        sum(range(1000))


def loop(is_marked, steps):
    took_us = []
    for number in range(steps):
        work()
        began = time.perf_counter_ns()
        with chokepoint.step(number, 64) if is_marked else contextlib.nullcontext():
            pass
        took_us.append((time.perf_counter_ns() - began) / 1e3)
    print(json.dumps(took_us))


def rank_loop(rank, begin_s, steps):
    os.environ["RANK"] = str(rank)
    for number in range(steps):
        time.sleep(max(0, begin_s + number * STEP_S - time.monotonic()))
        with chokepoint.step(number):
            pass


def ranks(count, seconds):
    begin_s = time.monotonic() + 1
    steps = round(seconds / STEP_S)
    for rank in range(count):
        if os.fork() == 0:
            rank_loop(rank, begin_s, steps)
            return
    for _ in range(count):
        os.wait()


if __name__ == "__main__":
    if sys.argv[1] == "ranks":
        ranks(int(sys.argv[2]), float(sys.argv[3]))
    else:
        loop(sys.argv[1] == "marks", int(sys.argv[2]))
