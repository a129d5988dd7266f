"""Records that hold less: as they would be of a host that tells less, or after a few steps. Copies
from which rows or nodes were taken."""

import contextlib
import dataclasses
import pathlib
import shutil
import sqlite3
import tempfile

# What goes with it: the library's messages are read from packets, and so are marks for clocks.
TABLES = {
    "collectives": ["collective"],
    "packets": ["collective", "flow_sample", "flow_mark"],
    "sockets": ["socket_sample"],
    "counters": ["counter_sample", "gauge_sample"],
}
NODE = "node"  # the first one's record alone is there
CHOICES = [*TABLES, NODE]
FEW_STEPS = 12  # ten, and the two of the warm-up
MOMENTS = {"step": "end_ns", "collective": "end_ns", "flow_sample": "t_ns", "socket_sample": "t_ns",
           "flow_mark": "t_ns", "counter_sample": "t_ns", "gauge_sample": "t_ns", "event": "t_ns",
           "clock_offset": "t_ns"}


@contextlib.contextmanager
def copies(records):
    """The databases, open to be changed, and where they lie."""
    with tempfile.TemporaryDirectory(prefix="lacking-") as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        databases = []
        for file in sorted(records.glob("*.db")):
            shutil.copy(file, folder)
            database = stack.enter_context(contextlib.closing(sqlite3.connect(folder / file.name)))
            database.execute("PRAGMA synchronous = OFF")  # the copy is of no use after a crash
            databases.append(database)
        yield folder, databases


@contextlib.contextmanager
def case_without(case, lack):
    if lack is None:
        yield case
        return
    with copies(case.records) as (folder, databases):
        for number, database in enumerate(databases):
            if lack == NODE and number > 0:
                pathlib.Path(database.execute("PRAGMA database_list").fetchone()[2]).unlink()
                continue
            with database:
                for table in TABLES.get(lack, []):
                    database.execute(f"DELETE FROM {table}")
        yield dataclasses.replace(case, lacking=folder)


def end_of_few_steps(database):
    """By the best source that has as many."""
    for (source,) in database.execute("SELECT DISTINCT source FROM step ORDER BY source").fetchall():
        ends = database.execute("SELECT end_ns FROM step WHERE source = ? ORDER BY end_ns LIMIT ?",
                                (source, FEW_STEPS)).fetchall()
        if len(ends) == FEW_STEPS:
            return ends[-1][0]
    return None


def cut(database):
    """What it would hold if the job went on just there."""
    end_ns = end_of_few_steps(database)
    if end_ns is None:
        return
    with database:
        for table, moment in MOMENTS.items():
            database.execute(f"DELETE FROM {table} WHERE {moment} > ?", (end_ns,))
        database.execute("DELETE FROM flow_total")
        database.execute("UPDATE flow SET end_ns = NULL WHERE end_ns > ?", (end_ns,))
        database.execute("UPDATE session SET end_ns = NULL, exit_status = NULL, seen_ns = ?",
                         (end_ns,))


@contextlib.contextmanager
def few_steps(case):
    with copies(case.records) as (folder, databases):
        for database in databases:
            cut(database)
        yield dataclasses.replace(case, lacking=folder)
