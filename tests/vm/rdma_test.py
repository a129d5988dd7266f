"""A test of chokepoint rdma from one machine to another: its document, or the one line it failed with;
and what is left of it."""

import contextlib
import time

from checks import holds, same

PORT = 5210
PROMPT_SECONDS = 5
# What the emulated machines take for a program to start, and for a line to come through.
EMULATION_SECONDS = 4


@contextlib.contextmanager
def serving(machine, *options):
    server = machine.serve(["chokepoint", "serve", *(options or ["--insecure-open"])], port=PORT)
    try:
        yield server
    finally:
        server.stop()


def measured(a, b, *words, **how):
    """The document of a test from a to b."""
    return a.json(["chokepoint", "rdma", *words, b.ipv4, "--json"], **how)


def refused(a, b, *words, status=1):
    """The one line that it failed with, soon."""
    began = time.monotonic()
    done = a.run(["chokepoint", "rdma", *words, b.ipv4], status=status)
    holds(time.monotonic() - began < PROMPT_SECONDS + EMULATION_SECONDS,
          f"it took {time.monotonic() - began:.1f} s: {done.told()}")
    same(done.stdout(), "", "standard output")
    lines = [line for line in done.stderr().splitlines() if line]
    same(len(lines), 1, f"lines of {done.told()}")
    holds(lines[0].startswith(f"chokepoint: rdma {words[0]}: "), lines[0])
    return lines[0]


def resources(machine):
    return machine.output(["rdma", "resource", "show"])


@contextlib.contextmanager
def nothing_left(*machines):
    before = [resources(machine) for machine in machines]
    yield
    end = time.monotonic() + PROMPT_SECONDS
    while [resources(each) for each in machines] != before and time.monotonic() < end:
        time.sleep(0.2)
    same([resources(each) for each in machines], before, "resources of RDMA")
