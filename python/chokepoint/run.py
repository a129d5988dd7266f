"""What the records of a run hold, as pandas DataFrames.

Tables are read when they are first asked for, and kept. All nodes are in one DataFrame, told apart
by `node`. Columns have the record's names, with their units (docs/internals/record.md); in front stand
moments in seconds since the job began, by the hosts' wall clocks.
"""
import json
import shutil
import warnings

import numpy
import pandas

from chokepoint.program import ProgramError, as_path, document_of
from chokepoint.record import Record, RecordError, columns_of, record_files

_DIRECTIONS = {0: "a_to_b", 1: "b_to_a"}
_WORDS = {
    ("step", "source"): {1: "marks", 2: "output", 3: "collectives", 4: "traffic"},
    ("collective", "source"): {1: "gloo", 2: "nccl", 3: "traffic"},
    ("collective", "kind"): dict(enumerate(
        ["unknown", "all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "gather",
         "scatter", "all-to-all", "barrier", "send", "receive"])),
    ("collective", "algorithm"): dict(enumerate(
        ["unknown", "tree", "ring", "collnet-direct", "collnet-chain", "nvls", "nvls-tree",
         "pat"])),
    ("collective", "protocol"): dict(enumerate(["unknown", "ll", "ll128", "simple"])),
    ("series", "kind"): {0: "counter", 1: "gauge"},
    ("flow_total", "direction"): _DIRECTIONS,
    ("flow_sample", "direction"): _DIRECTIONS,
    ("socket_sample", "direction"): _DIRECTIONS,
}
_MOMENTS = frozenset(("t_ns", "start_ns", "end_ns", "seen_ns", "own_ready_ns", "peer_ready_ns",
                      "first_data_ns", "last_data_ns", "enqueued_ns"))
_MAX_ROUND_TRIPS = 4_096  # characters of flow_total.rtt_ms


class _Node:
    """A record with what ties its clock to the wall clock."""

    def __init__(self, record):
        self.record = record
        self.sessions, _ = _frame(record, "session")
        names = [name for name in self.sessions["node"] if isinstance(name, str) and name]
        self.name = names[-1] if names else record.path.stem
        anchors, _ = _frame(record, "clock_anchor")
        known = anchors[["t_ns", "wall_ns"]].dropna().astype("int64").sort_values("t_ns")
        if known.empty:
            known = self.sessions[["start_ns", "start_wall_ns"]].dropna().astype("int64")
            known.columns = ["t_ns", "wall_ns"]
        self._t_ns = known["t_ns"].to_numpy()
        self._wall_ns = known["wall_ns"].to_numpy()

    def began_wall_ns(self):
        """When its job began, or whatever it recorded first."""
        known = self.sessions.dropna(subset=["start_wall_ns"])
        jobs = known[known["role"] == "run"]
        walls = (known if jobs.empty else jobs)["start_wall_ns"]
        return None if walls.empty else int(walls.min())

    def seconds(self, moments, zero_wall_ns):
        """Of the record's clock, since a moment of the wall clock."""
        seconds = numpy.full(len(moments), numpy.nan)
        if len(self._t_ns) == 0 or zero_wall_ns is None:
            return seconds
        known = moments.notna().to_numpy()
        t_ns = moments[known].to_numpy(dtype="int64")
        at = numpy.clip(numpy.searchsorted(self._t_ns, t_ns, side="right") - 1, 0, None)
        seconds[known] = (t_ns - self._t_ns[at] + (self._wall_ns[at] - zero_wall_ns)) / 1e9
        return seconds


def _frame(record, table, keys=None):
    values, trouble = record.read(table, keys)
    columns = {}
    for (name, kind), column in zip(columns_of(table), values):
        dtype = {"integer": "Int64", "real": "float64", "text": "object"}[kind]
        columns[name] = pandas.Series(column, dtype=dtype)
    frame = pandas.DataFrame(columns)
    for (of, name), words in _WORDS.items():
        if of == table:
            frame[name] = frame[name].map(words).astype("object")
    return frame, trouble


def _round_trips(text):
    """Of a flow's direction: JSON as chokepoint writes it, or nothing."""
    try:
        figures = json.loads(text, parse_int=float) if isinstance(text, str) and \
            len(text) <= _MAX_ROUND_TRIPS else {}
    except (ValueError, RecursionError):
        figures = {}
    if not isinstance(figures, dict):
        figures = {}
    return [value if isinstance(value := figures.get(name), float) else numpy.nan
            for name in ("min", "median", "p99", "max", "mean")]


class Run:
    """The records of one run. See chokepoint.load."""

    def __init__(self, folder, program=None, max_rows=5_000_000):
        self.folder = str(folder)
        self.troubles = []  # what could not be read, each a sentence
        self.program = program  # that tells the verdict; None: the one on the PATH
        self._kept = {}
        self._verdict = None
        self._nodes = []
        for path in record_files(folder):
            try:
                self._nodes.append(_Node(Record(path, max_rows)))
            except RecordError as error:
                self.troubles.append(str(error))
        if not self._nodes:
            raise RecordError("\n".join(self.troubles))
        for trouble in self.troubles:
            warnings.warn(trouble, stacklevel=3)
        began = [node.began_wall_ns() for node in self._nodes]
        self.zero_wall_ns = min((wall for wall in began if wall is not None), default=None)

    def __repr__(self):
        return f"<chokepoint run {self.folder!r}: {', '.join(self.nodes)}>"

    @property
    def nodes(self):
        return [node.name for node in self._nodes]

    @property
    def steps(self):
        """A row for each step of each rank, as `source` tells it: marks, output, collectives,
        traffic. `duration_s` is the mean of those that the row stands for (`merged`)."""
        return self._keep("steps", self._read_steps)

    @property
    def flows(self):
        """Connections: a row for each direction, with what it came to."""
        return self._keep("flows", self._read_flows)

    @property
    def flow_samples(self):
        """Connections over time, by their packets."""
        return self._keep("flow_samples", lambda: self._read("flow_sample"))

    @property
    def socket_samples(self):
        """Connections over time, as the kernel sees them."""
        return self._keep("socket_samples", lambda: self._read("socket_sample"))

    @property
    def samples(self):
        """All counters and gauges, a row for each reading. `series` gives one of them."""
        return self._keep("samples", self._read_samples)

    @property
    def collectives(self):
        return self._keep("collectives", lambda: self._read("collective"))

    @property
    def events(self):
        """What happened. Marks of the job have the kind "mark" and their name as subject."""
        return self._keep("events", lambda: self._read("event"))

    @property
    def processes(self):
        return self._keep("processes", lambda: self._read("process"))

    @property
    def sessions(self):
        """chokepoint's own processes that wrote the records: command, host, kernel, version."""
        return self._keep("sessions", lambda: self._read("session"))

    @property
    def labels(self):
        return self._keep("labels", lambda: self._read("label"))

    def series(self, name, subject=None, rate=False):
        """One counter or gauge over time: a column for each node and subject, by seconds.

        `rate`: how much a counter grows a second, in place of its count.
        """
        frame = self._read_samples(name, subject)
        columns = {}
        for (node, about), rows in frame.groupby(["node", "subject"], dropna=False):
            of_it = rows.set_index("t_s")["value"]
            of_it = of_it[~of_it.index.duplicated(keep="last")].sort_index()
            if rate:
                seconds = numpy.diff(of_it.index.to_numpy(), prepend=numpy.nan)
                of_it = (of_it.diff() / seconds).where(lambda grown: grown >= 0)
            columns[f"{node} {about}".strip()] = of_it
        return pandas.DataFrame(columns).sort_index().rename_axis("t_s")

    @property
    def verdict(self):
        """What `chokepoint diagnose --json` says of the run, or None: see `verdict_reason`."""
        return self._ask()[0]

    @property
    def verdict_reason(self):
        return self._ask()[1]

    def close(self):
        """Closes the records, and removes what had to be copied. What was read stays."""
        for node in self._nodes:
            node.record.close()

    def _keep(self, name, read):
        if name not in self._kept:
            self._kept[name] = read()
        return self._kept[name]

    def _tell(self, trouble):
        if trouble is not None and trouble not in self.troubles:
            self.troubles.append(trouble)
            warnings.warn(trouble, stacklevel=6)

    def _join(self, frames):
        """Of all nodes, by time."""
        frame = pandas.concat(frames, ignore_index=True)
        by = next((name for name in ("t_s", "start_s") if name in frame), None)
        return frame.sort_values(by, kind="stable", ignore_index=True) if by else frame

    def _read_of(self, node, table, keys=None):
        frame, trouble = _frame(node.record, table, keys)
        self._tell(trouble)
        return frame

    def _place(self, node, frame):
        """With its node and the seconds of its moments in front."""
        for place, name in enumerate(name for name in list(frame) if name in _MOMENTS):
            frame.insert(place, name[:-2] + "s", node.seconds(frame[name], self.zero_wall_ns))
        if "node" in frame:  # of sessions, where it is the same
            frame = frame.drop(columns="node")
        frame.insert(0, "node", node.name)
        return frame

    def _read(self, table):
        return self._join([self._place(node, self._read_of(node, table)) for node in self._nodes])

    def _read_steps(self):
        frame = self._read("step")
        took_ns = frame["busy_ns"].fillna(frame["end_ns"] - frame["start_ns"])
        merged = frame["merged"].where(frame["merged"] > 0)
        frame.insert(3, "duration_s", (took_ns / merged / 1e9).astype("float64"))
        return frame

    def _read_flows(self):
        frames = []
        for node in self._nodes:
            totals = self._read_of(node, "flow_total")
            rtt = pandas.DataFrame(
                [_round_trips(text) for text in totals.pop("rtt_ms")], index=totals.index,
                columns=["min_rtt_ms", "median_rtt_ms", "p99_rtt_ms", "max_rtt_ms", "mean_rtt_ms"])
            flows = self._place(node, self._read_of(node, "flow").drop_duplicates("id"))
            frames.append(flows.merge(pandas.concat([totals, rtt], axis=1), how="left",
                                      left_on="id", right_on="flow").drop(columns="flow"))
        return self._join(frames)

    def _read_samples(self, name=None, subject=None):
        frames = []
        for node in self._nodes:
            series = self._read_of(node, "series").drop_duplicates("id")
            series = series.dropna(subset=["id"])
            keys = None
            if name is not None:
                is_it = series["name"] == name
                is_it &= True if subject is None else series["subject"] == subject
                series = series[is_it]
                keys = list(series["id"])[:10_000]
            series = series[["id", "name", "subject", "unit", "kind"]]
            for table in ("counter_sample", "gauge_sample"):
                rows = self._read_of(node, table, keys)
                rows = rows.merge(series, how="left", left_on="series", right_on="id")
                frames.append(self._place(node, rows.drop(columns=["id", "series"])))
        first = ["node", "t_s", "name", "subject", "unit", "kind", "value", "peak", "peak_per_s"]
        frame = self._join(frames)
        return frame[first + [column for column in frame if column not in first]]

    def _ask(self):
        if self._verdict is None:
            self._verdict = self._diagnose()
        return self._verdict

    def _diagnose(self):
        program = self.program or shutil.which("chokepoint")
        if not program:
            return None, "chokepoint is not on the PATH: load(folder, program=...) names it"
        try:
            return document_of(program, "diagnose", as_path(self.folder), "--json"), None
        except ProgramError as error:
            return None, str(error)
