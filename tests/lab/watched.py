"""A job of the lab under `chokepoint run`, and what its record says.

    with_record = Watched(left, ["iperf3", "-c", link.b.ipv4], out=lab.folder / "run")
    with_record.wait(20)
    print(with_record.record().volumes())

A record is read as somebody else's program would: by SQLite, from a copy, so that one that is being
written or was cut off is left as it is.
"""

import contextlib
import json
import pathlib
import shutil
import sqlite3
import tempfile

from checks import holds

EXCHANGE = pathlib.Path(__file__).parent / "jobs" / "exchange.py"


class Watched:
    def __init__(self, host, job, out, options=(), environment=None, before=()):
        """`before`: what runs chokepoint in turn, such as setpriv."""
        self.host, self.out = host, pathlib.Path(out)
        self.process = host.start(
            [*before, "chokepoint", "run", "--out", self.out, "--node", host.name, *options,
             "--", *job], environment=environment)

    def wait(self, timeout=20, status=0):
        found = self.process.wait(timeout)
        if status is not None:
            holds(found == status, f"exit status {found} instead of {status}: "
                                   f"{self.process.told()}")
        return self

    def stdout(self):
        return self.process.stdout()

    def stderr(self):
        return self.process.stderr()

    @contextlib.contextmanager
    def record(self):
        with Record.of(self.out, self.host.name) as record:
            yield record

    def shown(self):
        """What `record show` makes of the folder."""
        return self.host.json(["chokepoint", "record", "show", self.out, "--json"])


class Record:
    def __init__(self, connection):
        self.connection = connection

    @staticmethod
    @contextlib.contextmanager
    def of(folder, node):
        with tempfile.TemporaryDirectory(prefix="chokepoint-record-") as copy:
            for file in pathlib.Path(folder).glob(f"{node}.db*"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copy(file, copy)
            file = pathlib.Path(copy, f"{node}.db")
            holds(file.exists(), f"no record of {node} in {folder}")
            with contextlib.closing(sqlite3.connect(file)) as connection:
                connection.row_factory = sqlite3.Row
                yield Record(connection)

    def rows(self, query, *values):
        return [dict(row) for row in self.connection.execute(query, values)]

    def value(self, query, *values):
        row = self.connection.execute(query, values).fetchone()
        return row[0] if row else None

    def volumes(self):
        """{interface: (sent, received)} of the job's Ethernet frames."""
        last = {(row["name"], row["subject"]): row["last"] for row in self.rows(
            "SELECT name, subject, max(value) AS last FROM counter_sample "
            "JOIN series ON series.id = series WHERE name LIKE 'job.%' GROUP BY series.id")}
        return {subject: (last.get(("job.sent_bytes", subject), 0),
                          last.get(("job.received_bytes", subject), 0))
                for _, subject in last}

    def job_flows(self):
        """TCP connections that belong to a process of the job, seen from this node."""
        found = self.rows("SELECT * FROM flow WHERE process IS NOT NULL AND protocol = 'tcp'")
        for flow in found:
            here, there = ("b", "a") if flow["local_end"] == 1 else ("a", "b")
            flow["local"] = (flow[f"{here}_address"], flow[f"{here}_port"])
            flow["peer"] = (flow[f"{there}_address"], flow[f"{there}_port"])
            flow["sends"] = 1 if flow["local_end"] == 1 else 0
        return found

    def steps(self, source):
        return self.rows("SELECT * FROM step WHERE source = ? ORDER BY start_ns", source)

    def newest_sample_ns(self):
        return max(self.value(f"SELECT max(t_ns) FROM {table}") or 0
                   for table in ("counter_sample", "gauge_sample", "socket_sample", "flow_sample"))

    def is_sound(self):
        return self.value("PRAGMA integrity_check") == "ok"

    def is_complete(self):
        """Every session was ended by its writer."""
        return self.value("SELECT count(*) FROM session WHERE end_ns IS NULL") == 0


def exchange(role, address, port, *words):
    return ["python3", "-B", EXCHANGE, role, address, port, *words]


def truth_of(path):
    return json.loads(pathlib.Path(path).read_text())


class Both:
    """The same job at both ends of a link, each end watched, the records in one folder."""

    def __init__(self, lab, link, *words, options=(), port=5000):
        self.link, self.truths = link, {}
        self.out = lab.folder / "run"
        self.ends = {}
        for role, end in (("listen", link.b), ("connect", link.a)):
            truth = lab.folder / f"{role}.json"
            self.truths[end.host.name] = truth
            self.ends[end.host.name] = Watched(
                end.host, exchange(role, link.b.ipv4, port, "--truth", truth, *words), self.out,
                options)
            if role == "listen":
                # Whoever is refused tries again, and that is a connection, too.
                self.ends[end.host.name].process.until(
                    lambda host=end.host: host.listens(port), 20, f"listener on port {port}")

    def wait(self, timeout=60):
        for end in self.ends.values():
            end.wait(timeout)
        return self

    def until(self, condition, what, timeout=20):
        self.ends[self.link.a.host.name].process.until(condition, timeout, what)

    def printed(self, host):
        return self.ends[host.name].stdout()

    def truth(self, host):
        return truth_of(self.truths[host.name])

    def record(self, host):
        return self.ends[host.name].record()
