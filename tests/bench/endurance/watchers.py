"""The processes of a `chokepoint run`, found by their names, and what its record still has."""

import contextlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

from processes import tree_of
from watched import Record

FRONT, WATCH, RELAY = "front", "watch", "relay"
ROLES = {"chokepoint": FRONT, "chokepoint-rec": WATCH, "job-output": RELAY}
HELPER = "helper"  # any other process of chokepoint's
PROMISED_S = 1.0
FIRST_S = 0.5  # from the record's beginning to its first samples
OUTPUT_STEPS = 2  # the source of a step in the record


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def role_of(pid):
    name = name_of(pid)
    return ROLES.get(name) or (HELPER if name.startswith("chokepoint") else None)


def processes_of(front_pid):
    """{role: pids} of what belongs to one `chokepoint run`. Of a job's own processes none."""
    found = {}
    for pid in tree_of(front_pid):
        role = role_of(pid)
        if role:
            found.setdefault(role, []).append(pid)
    return found


def kill(pids):
    """(when, how many were there to be killed)"""
    when, killed = time.monotonic_ns(), 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return when, killed


def left_over(host, seconds=10):
    """Processes of chokepoint's that are still in a host some time after its job has ended."""
    end = time.monotonic() + seconds
    while (pids := [pid for pid in host.pids() if role_of(pid)]) and time.monotonic() < end:
        time.sleep(0.05)
    return pids


def opens(program, folder):
    """The complaint where `record show` does not open it."""
    done = subprocess.run([program, "record", "show", folder, "--json"], capture_output=True,
                          text=True, check=False, timeout=60)
    return [] if done.returncode == 0 else [f"record show: {done.stderr.strip()}"]


class Kept:
    """What a record had when it was looked at."""

    def __init__(self, folder, node):
        self.is_there = (pathlib.Path(folder) / f"{node}.db").exists()
        self.begun_ns = self.newest_ns = None
        self.steps = []
        self.is_sound = self.is_complete = False
        if self.is_there:
            with Record.of(folder, node) as record:
                self.read(record)

    def read(self, record):
        try:
            self.is_sound = record.is_sound()
            self.begun_ns = record.value("SELECT min(start_ns) FROM session")
            self.is_complete = self.begun_ns is not None and record.is_complete()
            self.newest_ns = record.newest_sample_ns()
            self.steps = record.steps(OUTPUT_STEPS)
        except sqlite3.Error:
            if self.begun_ns is not None:
                raise
            # Killed before the tables were there.

    def missing_s(self, killed_ns):
        """Seconds before the kill of which there is nothing; None of a record too young, and of one
        that had no sample yet, which a busy machine may take seconds to come to."""
        if not self.newest_ns or killed_ns - self.begun_ns < (PROMISED_S + FIRST_S) * 1e9:
            return None
        return (killed_ns - self.newest_ns) / 1e9

    def lost_steps(self, truth, by_ns):
        """Numbers of steps that were printed by then and are not there. The first never is: a line
        is the end of a step, and nothing tells of its beginning. Lines that were read at the same
        moment are one step with the last one's number."""
        newest = max((step["number"] for step in self.steps), default=1)
        old = [number for number, printed_ns in enumerate(truth, start=1) if printed_ns < by_ns]
        return [number for number in old if number > newest or number in self.holes()]

    def holes(self):
        """Numbers in times that no step covers: each begins where the one before has ended."""
        return [number for before, after in zip(self.steps, self.steps[1:])
                if after["start_ns"] > before["end_ns"]
                for number in range(before["number"] + 1, after["number"])]
