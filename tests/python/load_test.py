#!/usr/bin/env python3
"""What chokepoint.load makes of records: whole ones, ones that are being written, old, newer,
damaged and hostile ones."""
import fcntl
import os
import pathlib
import re
import sqlite3
import stat
import tempfile
import unittest
import warnings

import chokepoint
from chokepoint import record, run

TREE = pathlib.Path(__file__).resolve().parents[2]
SOURCE = (TREE / "base/record/schema.cc").read_text()
SCHEMAS = [sql for _, sql in sorted(re.findall(r'kSchema(\d) = R"sql\((.*?)\)sql"', SOURCE, re.S))]
START = 1_000_000_000
WALL = 1_700_000_000_000_000_000


def make(path, schema=record.SCHEMA, number=None, application=record.APPLICATION, wal=False):
    """An empty record."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA synchronous=OFF")
    if wal:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA wal_autocheckpoint=0")
    for sql in SCHEMAS[:schema]:
        database.executescript(sql)
    database.execute(f"PRAGMA application_id={application}")
    database.execute(f"PRAGMA user_version={number or schema}")
    return database


def insert(database, table, **values):
    database.execute(f"INSERT INTO {table}({', '.join(values)}) VALUES "
                     f"({', '.join('?' * len(values))})", list(values.values()))


def fill(database, node="a", wall_ns=WALL):
    """A job of two steps with a connection, a counter and a mark."""
    insert(database, "session", id=1, role="run", command="train", node=node, start_ns=START,
           start_wall_ns=wall_ns)
    for second in (0, 60):
        # The wall clock is set forward by 5 s after a minute.
        insert(database, "clock_anchor", session=1, t_ns=START + second * 10**9,
               wall_ns=wall_ns + (second + 5 * (second > 0)) * 10**9)
    for number in range(2):
        insert(database, "step", start_ns=START + number * 10**8, number=number, rank=0, source=1,
               end_ns=START + (number + 1) * 10**8, merged=1, samples=64)
    insert(database, "step", start_ns=START + 70 * 10**9, end_ns=START + 72 * 10**9, merged=4,
           number=9, rank=0, source=4, busy_ns=10**9)
    insert(database, "flow", id=7, session=1, protocol="tcp", a_address="10.0.0.1", a_port=1,
           b_address="10.0.0.2", b_port=2, start_ns=START)
    for direction in (0, 1):
        insert(database, "flow_total", flow=7, direction=direction, packets=10 + direction,
               rtt_ms='{"min": 0.5, "median": 1, "p99": 2, "max": 3, "mean": 1.5, "count": 4}')
    insert(database, "flow", id=8, session=1, protocol="tcp")
    insert(database, "series", id=1, session=1, name="nic.sent_bytes", subject="eth0", unit="bytes",
           kind=0)
    insert(database, "series", id=2, session=1, name="gpu.busy", subject="0", unit="%", kind=1)
    for second in range(3):
        insert(database, "counter_sample", t_ns=START + second * 10**9, bin_ns=0, merged=1,
               series=1, value=1000.0 * second)
    insert(database, "gauge_sample", t_ns=START, bin_ns=0, merged=1, series=2, value=0.5, peak=1)
    insert(database, "event", session=1, t_ns=START + 10**8, kind="mark", subject="evaluation",
           detail="{}")
    insert(database, "process", id=1, session=1, pid=99, command="train", rank=0, start_ns=START)
    insert(database, "collective", start_ns=START, end_ns=START + 10**6, merged=1, number=0, kind=1,
           source=1, rank=0, bytes=4)
    insert(database, "label", session=1, key="batch", value="16")


class Records(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def filled(self, name="a.db", **how):
        database = make(self.folder / name, **how)
        fill(database)
        return database

    def refused(self, *words):
        with self.assertRaises(chokepoint.RecordError) as caught:
            chokepoint.load(self.folder)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def quietly(self, **how):
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            return chokepoint.load(self.folder, **how)


class WhatIsThere(Records):
    def test_the_tables(self):
        self.filled().close()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run_a = chokepoint.load(str(self.folder))
            steps = run_a.steps
            self.assertEqual(list(steps["source"]), ["marks", "marks", "traffic"])
            self.assertEqual(list(steps["node"]), ["a"] * 3)
            self.assertEqual(list(steps["number"]), [0, 1, 9])
            self.assertEqual([round(each, 6) for each in steps["duration_s"]], [0.1, 0.1, 0.25])
            self.assertEqual([round(each, 6) for each in steps["start_s"]], [0.0, 0.1, 75.0])
            self.assertTrue(steps["samples"].isna()[2])
            self.assertEqual(list(run_a.flows["direction"].dropna()), ["a_to_b", "b_to_a"])
            self.assertEqual(list(run_a.flows["packets"].dropna()), [10, 11])
            self.assertEqual(run_a.flows["p99_rtt_ms"][0], 2.0)
            self.assertEqual(len(run_a.flows), 3)
            self.assertEqual(list(run_a.events["subject"]), ["evaluation"])
            self.assertEqual(list(run_a.processes["pid"]), [99])
            self.assertEqual(list(run_a.collectives["kind"]), ["all-reduce"])
            self.assertEqual(list(run_a.collectives["source"]), ["gloo"])
            self.assertEqual(list(run_a.labels["value"]), ["16"])
            self.assertEqual(list(run_a.sessions["command"]), ["train"])
            self.assertEqual(run_a.samples[run_a.samples["kind"] == "gauge"]["peak"].iloc[0], 1.0)
            self.assertEqual(list(run_a.series("nic.sent_bytes")["a eth0"]), [0, 1000, 2000])
            rates = run_a.series("nic.sent_bytes", "eth0", rate=True)["a eth0"]
            self.assertEqual(list(rates.dropna()), [1000.0, 1000.0])
            self.assertEqual(len(run_a.series("no.such")), 0)
            self.assertEqual(len(run_a.flow_samples) + len(run_a.socket_samples), 0)
            self.assertEqual(run_a.troubles, [])
            self.assertIs(run_a.steps, steps)
            run_a.close()

    def test_several_nodes(self):
        self.filled().close()
        with make(self.folder / "b.db") as database:
            fill(database, "b", WALL + 2 * 10**9)
        database.close()
        both = chokepoint.load(self.folder)
        self.assertEqual(both.nodes, ["a", "b"])
        self.assertEqual(list(both.steps["node"]), ["a", "a", "b", "b", "a", "b"])
        self.assertEqual(round(both.steps["start_s"][2], 6), 2.0)

    def test_one_file(self):
        self.filled().close()
        self.assertEqual(chokepoint.load(self.folder / "a.db").nodes, ["a"])

    def test_older_schemas(self):
        older = range(1, record.SCHEMA)
        for schema in older:
            with make(self.folder / f"{schema}.db", schema) as database:
                fill(database, str(schema))
            database.close()
        both = chokepoint.load(self.folder)
        self.assertEqual(both.troubles, [])
        self.assertEqual(len(both.steps), 3 * len(older))
        self.assertIn("algorithm", both.collectives)
        self.assertIn("content", both.flows)

    def test_columns_are_those_of_the_sources(self):
        for schema in range(1, record.SCHEMA + 1):
            database = make(":memory:", schema)
            for table in record.tables():
                found = [(row[1], row[2].lower()) for row in
                         database.execute(f"PRAGMA table_info({table})")]
                self.assertEqual(found, record.columns_of(table, schema), (table, schema))
        self.assertIn(f"#{record.SCHEMA}", f"#{len(SCHEMAS)}")

    def test_words_are_those_of_the_sources(self):
        words = (TREE / "analysis/load/run_data.cc").read_text()
        kinds = (TREE / "base/record/samples.h").read_text()
        for (table, column), known in run._WORDS.items():
            if table != "series":
                for word in known.values():
                    self.assertIn(f'"{word}"', words + kinds, (table, column))


class WhileItIsWritten(Records):
    def test_a_live_record(self):
        database = self.filled(wal=True)
        lock = os.open(self.folder / "a.db-lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.assertGreater((self.folder / "a.db-wal").stat().st_size, 0)
        live = chokepoint.load(self.folder)
        self.assertEqual(len(live.steps), 3)
        insert(database, "step", start_ns=START, end_ns=START + 1, merged=1, number=1, source=1)
        self.assertEqual(len(chokepoint.load(self.folder).steps), 4)
        self.assertEqual(len(live.steps), 3)  # as it was when it was asked for
        live.close()
        os.close(lock)
        database.close()

    def test_after_a_kill_nothing_is_written_beside_it(self):
        database = self.filled(wal=True)
        killed = self.folder / "killed"
        killed.mkdir()
        for name in ("a.db", "a.db-wal"):
            (killed / name).write_bytes((self.folder / name).read_bytes())
        database.close()
        before = {file.name: file.read_bytes() for file in killed.iterdir()}
        loaded = chokepoint.load(killed)
        self.assertEqual(len(loaded.steps), 3)
        loaded.close()
        self.assertEqual({file.name: file.read_bytes() for file in killed.iterdir()}, before)

    def test_a_closed_record_where_nothing_may_be_written(self):
        database = self.filled(wal=True)
        database.close()
        os.chmod(self.folder, stat.S_IRUSR | stat.S_IXUSR)
        self.assertEqual(len(chokepoint.load(self.folder).steps), 3)
        self.assertEqual([file.name for file in self.folder.iterdir()], ["a.db"])
        os.chmod(self.folder, stat.S_IRWXU)


class WhatIsRefused(Records):
    def test_no_folder(self):
        self.folder = self.folder / "no\x1bwhere"
        self.refused("No such file")

    def test_an_empty_folder(self):
        self.refused("holds no run record")

    def test_a_newer_schema(self):
        self.filled(number=record.SCHEMA + 1).close()
        self.refused(f"schema {record.SCHEMA + 1}", f"knows up to {record.SCHEMA}")

    def test_an_empty_file(self):
        (self.folder / "a.db").touch()
        self.refused("empty")

    def test_no_sqlite(self):
        (self.folder / "a.db").write_bytes(b"x" * 10_000)
        self.refused("not a run record")

    def test_a_database_of_something_else(self):
        sqlite3.connect(self.folder / "a.db").execute("CREATE TABLE x(y)").connection.close()
        self.refused("not of chokepoint")

    def test_a_file_that_is_cut_short(self):
        self.filled().close()
        path = self.folder / "a.db"
        path.write_bytes(path.read_bytes()[:8192 * 2])
        self.refused("cut short", "copy it again")

    def test_a_damaged_file(self):
        self.filled().close()
        path = self.folder / "a.db"
        data = bytearray(path.read_bytes())
        data[100:4096] = b"\xff" * 3996
        path.write_bytes(data)
        self.refused("damaged", "copy it again")

    def test_pages_that_are_damaged_end_their_table(self):
        """Whatever bytes lie there: no other error, and no other warning."""
        self.filled().close()
        path = self.folder / "a.db"
        whole = path.read_bytes()
        for page in range(1, len(whole) // 4096, 2):
            for junk in (b"\xff", b"\x00", b"\x05\x00\x00\x10"):
                path.write_bytes(whole[:page * 4096] + (junk * 4096)[:4096] +
                                 whole[(page + 1) * 4096:])
                try:
                    loaded = self.quietly()
                    with warnings.catch_warnings(record=True):
                        warnings.simplefilter("always")
                        for table in ("steps", "flows", "samples", "collectives", "events",
                                      "processes"):
                            getattr(loaded, table)
                    loaded.close()
                except chokepoint.RecordError:
                    pass

    def test_one_that_is_bad_beside_a_good_one(self):
        self.filled().close()
        (self.folder / "b.db").write_bytes(b"x" * 1000)
        with self.assertWarnsRegex(UserWarning, "not a run record"):
            loaded = chokepoint.load(self.folder)
        self.assertEqual(loaded.nodes, ["a"])
        self.assertEqual(len(loaded.troubles), 1)


class WhatIsHostile(Records):
    def test_other_things_than_tables(self):
        for sql in ("DROP TABLE step; CREATE VIEW step AS SELECT 1 AS start_ns",
                    "CREATE TRIGGER t AFTER INSERT ON step BEGIN DELETE FROM event; END",
                    "CREATE VIEW other AS SELECT 1"):
            database = self.filled()
            database.executescript(sql)
            database.close()
            self.refused("do not trust")
            (self.folder / "a.db").unlink()

    def test_other_columns(self):
        for sql in ("ALTER TABLE step ADD COLUMN more INTEGER", "DROP TABLE step",
                    "DROP TABLE step; CREATE TABLE step(start_ns INTEGER, end_ns AS "
                    "(zeroblob(1000000000)))"):
            database = self.filled()
            database.executescript(sql)
            database.close()
            self.refused("other columns", "'step'")
            (self.folder / "a.db").unlink()

    def test_values_of_other_types_are_unknown(self):
        database = self.filled()
        for place, value in enumerate(("text", b"blob", 1e300, 2**62, -2**63)):
            insert(database, "step", start_ns=START, end_ns=value, merged=value, number=value,
                   rank=value, source=value, busy_ns=value)
            insert(database, "event", session=1, t_ns=value, kind=b"\x00\xff", subject=value)
            insert(database, "flow_total", flow=100, direction=place, rtt_ms=value)
            insert(database, "series", id=None, name=value, kind=value)
        database.close()
        loaded = chokepoint.load(self.folder)
        self.assertEqual(len(loaded.steps), 8)
        self.assertEqual(int(loaded.steps["number"].isna().sum()), 5)
        self.assertEqual(int(loaded.events["t_ns"].isna().sum()), 5)
        self.assertEqual(len(loaded.flows), 3)
        self.assertEqual(len(loaded.samples), 4)

    def test_text(self):
        database = self.filled()
        database.execute("INSERT INTO event(kind, subject, detail) VALUES "
                         "('a' || char(27) || '[2J', CAST(x'ff41' AS TEXT), ?)", ["x" * 200_000])
        for number, text in enumerate(("[" * 4000, '{"min": "x"}', "[1]", '{"min": 1e999}', "{",
                                       '{"min": ' + "9" * 4000 + "}")):
            insert(database, "flow_total", flow=8, direction=number, rtt_ms=text)
        database.close()
        loaded = chokepoint.load(self.folder)
        event = loaded.events.iloc[-1]
        self.assertEqual(event["kind"], "a\ufffd[2J")
        self.assertEqual(event["subject"], "\ufffdA")
        self.assertEqual(len(event["detail"]), record.MAX_TEXT)
        self.assertEqual(len(loaded.flows), 8)

    def test_more_rows_than_are_wanted(self):
        self.filled().close()
        loaded = chokepoint.load(self.folder, max_rows=2)
        with self.assertWarnsRegex(UserWarning, "step has more than"):
            self.assertLessEqual(len(loaded.steps), 2)
        self.assertEqual(len(loaded.troubles), 1)

    def test_rows_that_no_file_has_room_for(self):
        """Pages that lead to the same page many times: a few of them make millions of rows."""
        self.filled().close()
        path = self.folder / "a.db"
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("BEGIN")
        database.executemany("INSERT INTO event(kind) VALUES (?)", [("x",)] * 40_000)
        database.execute("COMMIT")
        root = database.execute("SELECT rootpage FROM sqlite_master WHERE name='event'"
                                ).fetchone()[0]
        size = database.execute("PRAGMA page_size").fetchone()[0]
        database.close()
        data = bytearray(path.read_bytes())

        def page(number):
            return memoryview(data)[(number - 1) * size:number * size]

        def cells(of):
            return [int.from_bytes(of[at:at + 2], "big") for at in
                    range(12, 12 + 2 * int.from_bytes(of[3:5], "big"), 2)]
        self.assertEqual(page(root)[0], 5)  # an interior page of a table: cells lead to leaves
        first, second = (int.from_bytes(page(root)[at:at + 4], "big")
                         for at in cells(page(root))[:2])
        page(second)[:] = page(root)
        for of, child in ((root, second), (second, first)):
            for at in cells(page(of)):
                page(of)[at:at + 4] = child.to_bytes(4, "big")
        path.write_bytes(data)
        loaded = self.quietly()
        with self.assertWarnsRegex(UserWarning, "event has more than"):
            self.assertLessEqual(len(loaded.events), 1_000 + path.stat().st_size // 6)

    def test_pipes_and_links(self):
        self.filled().close()
        os.mkfifo(self.folder / "b.db")
        os.mkfifo(self.folder / "c.db")
        os.symlink("/dev/zero", self.folder / "d.db")
        self.filled("e.db").close()
        os.mkfifo(self.folder / "e.db-wal")
        self.filled("f.db").close()
        os.symlink("/dev/zero", self.folder / "f.db-wal")
        self.filled("g.db").close()
        os.mkfifo(self.folder / "g.db-lock")
        (self.folder / "g.db-wal").touch()
        loaded = self.quietly()
        self.assertEqual(len(loaded.troubles), 5)
        self.assertEqual(len(loaded.nodes), 2)

    def test_names_with_marks_of_an_address(self):
        """SQLite is given the path as a URI."""
        self.folder = self.folder / "a?mode=rwc#%41"
        self.folder.mkdir()
        self.filled("b?immutable=0.db").close()
        self.assertEqual(len(chokepoint.load(self.folder).steps), 3)


class TheVerdict(Records):
    def program(self, text):
        path = self.folder / "program"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return str(path)

    def asked(self, program):
        self.filled().close()
        loaded = chokepoint.load(self.folder, program=program)
        return loaded.verdict, loaded.verdict_reason

    def test_what_the_program_says(self):
        verdict, reason = self.asked(self.program("""echo "{\\"said\\": \\"$1 $3\\"}"; exit 3"""))
        self.assertEqual((verdict, reason), ({"said": "diagnose --json"}, None))

    def test_no_program(self):
        path = os.environ["PATH"]
        os.environ["PATH"] = "/nowhere"
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        verdict, reason = self.asked(None)
        self.assertIsNone(verdict)
        self.assertIn("not on the PATH", reason)

    def test_a_program_that_fails(self):
        verdict, reason = self.asked(self.program("printf 'why\\033 not' >&2; exit 1"))
        self.assertEqual((verdict, reason),
                         (None, "chokepoint diagnose ended with 1: why\\x1b not"))

    def test_a_program_that_says_no_json(self):
        verdict, reason = self.asked(self.program("echo '['"))
        self.assertIsNone(verdict)
        self.assertIn("program", reason)

    def test_a_program_that_is_not_there(self):
        verdict, reason = self.asked("/nowhere/chokepoint")
        self.assertIsNone(verdict)
        self.assertIn("/nowhere/chokepoint", reason)


if __name__ == "__main__":
    unittest.main()
