#!/usr/bin/env python3
"""What marking costs a step of 5 ms, here. Also as `chokepoint run -q --out DIR -- cost.py`."""
import contextlib
import os
import socket
import statistics
import time

import chokepoint

STEPS = 400


def work():
    end = time.perf_counter() + 0.005
    while time.perf_counter() < end:
        sum(range(1000))


def median_us(make):
    took = []
    for number in range(STEPS):
        work()
        began = time.perf_counter()
        with make(number):
            pass
        took.append(time.perf_counter() - began)
    return 1e6 * statistics.median(took)


class Sent:
    """One datagram, and nothing of Python's around it."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.connect(path)

    def __enter__(self):
        with contextlib.suppress(BlockingIOError):
            self.socket.send(b"sent")

    def __exit__(self, *_):
        pass


def main():
    path = os.environ.get("CHOKEPOINT_MARKS")
    nothing = median_us(lambda number: contextlib.nullcontext())
    print(f"a step {median_us(lambda number: chokepoint.step(number, 64)) - nothing:.1f} µs")
    if path:
        sent = Sent(path)
        print(f"of which sending {median_us(lambda number: sent) - nothing:.1f} µs")


if __name__ == "__main__":
    main()
