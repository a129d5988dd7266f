"""What a run's record holds, asked of SQLite."""

import contextlib

from outcome import Failed, Skipped

try:
    import sqlite3
except ImportError:  # a Python may be built without; the checks that need no record go on
    sqlite3 = None


def rows(folder, node, query, *values):
    if sqlite3 is None:
        raise Skipped("this python3 has no sqlite3")
    path = folder / f"{node}.db"
    if not path.exists():
        raise Failed(f"the run left no record of {node}")
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as record:
        return record.execute(query, values).fetchall()


def gauge(folder, node, name):
    """All values of a series, of whichever GPU."""
    return [value for (value,) in rows(
        folder, node, "SELECT s.value FROM gauge_sample s JOIN series n ON s.series = n.id "
        "WHERE n.name = ? ORDER BY s.t_ns", name)]


def nccl_collectives(folder, node):
    """How many, and how many of these with the kernel's own times."""
    return rows(folder, node, "SELECT count(*), count(own_ready_ns) "
                "FROM collective WHERE source = 2")[0]


def events(folder, node, kind):
    return rows(folder, node, "SELECT subject, detail FROM event WHERE kind = ?", kind)
