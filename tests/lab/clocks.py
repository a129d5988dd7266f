"""What analysis/timeline makes of the clocks of a run's records, and records whose clocks are made
wrong. All hosts of the lab have one clock, so that whatever they are found to be apart is an
error."""

import json
import os
import pathlib
import sqlite3
import subprocess

from kernel import Failed

TREE = pathlib.Path(__file__).resolve().parents[2]
MOMENTS = {
    "session": ["start_ns", "seen_ns", "end_ns"],
    "clock_anchor": ["t_ns"],
    "flow": ["start_ns", "end_ns"],
    "flow_mark": ["t_ns"],
    "collective": ["start_ns", "end_ns", "own_ready_ns", "peer_ready_ns", "first_data_ns",
                   "last_data_ns"],
    "flow_sample": ["t_ns"], "socket_sample": ["t_ns"], "counter_sample": ["t_ns"],
    "gauge_sample": ["t_ns"], "step": ["start_ns", "end_ns"],
}


def program():
    return os.environ.get("CHOKEPOINT_LAB_CLOCKS",
                          TREE / "build/release/tests/lab/clocks/lab_clocks")


def found(records):
    """Of each node: how far its clock is found to be from the common one, and how surely."""
    done = subprocess.run([program(), records], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"clocks of {records}: {done.stderr}")
    return json.loads(done.stdout)


def make_wrong(record, shift_s, drift_ppm):
    """As if the host's monotonic clock had been so far ahead, and so much faster."""
    with sqlite3.connect(record) as base:
        (start,) = base.execute("SELECT min(start_ns) FROM session").fetchone()
        for table, columns in MOMENTS.items():
            moved = ", ".join(f"{name} = {name} + {round(shift_s * 1e9)} + "
                              f"CAST(({name} - {start}) * {drift_ppm}e-6 AS INTEGER)"
                              for name in columns)
            base.execute(f"UPDATE {table} SET {moved}")
    base.close()
