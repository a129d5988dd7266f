#!/usr/bin/env python3
"""usage: history_server_test.py CHOKEPOINT [TEST…]

Commands whose history is in a server of PostgreSQL, as docs/guide/history.md sets it up: what an
account of each role may do, and what happens while the server is down.
"""

import csv
import datetime
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "base" / "history"))
import postgres_server  # noqa: E402

PROGRAM = ""
SKIPPED = 77
PATIENCE_S = 60
DONE, FAILED, FOUND = 0, 1, 3
NOW = datetime.datetime.now(datetime.timezone.utc)
# Thirty good measurements, an hour apart, and twenty bad ones; the last one an hour ago.
GOOD, BAD = 30, 20


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def documents():
    """Of `probe tcp` from gpu1 to gpu2: the path becomes slower when gpu1 gets another driver."""
    for number in range(GOOD + BAD):
        rate, driver = (940, "550") if number < GOOD else (600, "570")
        at = NOW - datetime.timedelta(hours=GOOD + BAD - number)
        yield {"schema": "chokepoint.probe.tcp/1", "host": "gpu1",
               "started_at": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "peer": {"host": "gpu2"},
               "direction": "send", "streams": 1, "throughput_mbps": rate + number % 5,
               "host_facts": {"own": {"gpu": {"driver": driver}}}}


class OnServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres_server.PostgresServer()
        cls.addClassCleanup(cls.server.remove)
        cls.server.start()
        cls.server.make_history()
        for name, roles in (("gpu1", "chokepoint_node"), ("ana", "chokepoint_reader"),
                            ("gpu2", "chokepoint_node, chokepoint_reader"),
                            ("admin", "chokepoint_owner"), ("stranger", "")):
            cls.server.run(f"CREATE ROLE {name} LOGIN {'IN ROLE ' + roles if roles else ''}")
        cls.port = free_port()
        cls.peer = subprocess.Popen([PROGRAM, "serve", "--insecure-open", "--quiet", "--bind",
                                     "127.0.0.1", "--port", str(cls.port)])
        cls.addClassCleanup(cls.peer.wait)
        cls.addClassCleanup(cls.peer.terminate)
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", cls.port)).close()
                break
            except OSError:
                time.sleep(0.05)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="chokepoint-history-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def tearDown(self):
        if not self.server.process:
            self.server.start()
        self.server.run("TRUNCATE chokepoint.measured, chokepoint.series, chokepoint.origin, "
                        "chokepoint.state, chokepoint.content")

    def call(self, user, *words, status=DONE):
        done = subprocess.run(
            [PROGRAM, *map(str, words)], check=False, capture_output=True, text=True,
            timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
            env={**os.environ, "CHOKEPOINT_HISTORY": self.server.url(user),
                 "XDG_STATE_HOME": str(self.folder / "state")})
        self.assertEqual(status, done.returncode, f"{words}: {done.stdout}{done.stderr}")
        return done

    def probe(self, user):
        return self.call(user, "probe", "tcp", "127.0.0.1", "--port", self.port, "--time", "0.2")

    def add_documents(self, user="gpu1", status=DONE):
        files = []
        for number, document in enumerate(documents()):
            files.append(self.folder / f"{number}.json")
            files[-1].write_text(json.dumps(document))
        return self.call(user, "history", "add", *files, status=status)

    def rows(self):
        return int(self.server.run("SELECT count(*) FROM chokepoint.measured"))

    def probes_of_rate(self):
        """How many probes of this host were added, not documents."""
        return int(self.server.run(
            "SELECT count(*) FROM chokepoint.measured JOIN chokepoint.series ON id = series "
            "WHERE metric = 'throughput_mbps' AND host <> 'gpu1'"))

    @property
    def spool(self):
        return self.folder / "state" / "chokepoint" / "spool.db"


class Accounts(OnServer):
    def test_a_node_adds(self):
        self.assertEqual("", self.probe("gpu1").stderr.partition("remember")[1])
        self.assertIn("throughput_mbps", self.server.run("SELECT metric FROM chokepoint.series"))
        self.assertEqual(1, int(self.server.run("SELECT count(*) FROM chokepoint.state")))
        self.assertFalse(self.spool.exists())

    def test_a_node_adds_documents_once(self):
        self.assertIn(f"{GOOD + BAD} rows are new", self.add_documents().stderr)
        self.assertIn("0 rows are new", self.add_documents().stderr)

    def test_a_node_neither_reads_nor_removes(self):
        self.add_documents()
        for words in ((), ("gpu1",), ("--list",), ("check",), ("export",),
                      ("prune", "--keep", "1h")):
            error = self.call("gpu1", "history", *words, status=FAILED).stderr
            self.assertIn("permission denied", error)
            self.assertEqual(1, len(error.splitlines()), error)
        self.assertEqual(GOOD + BAD, self.rows())

    def test_a_reader_reads(self):
        self.add_documents()
        found = self.call("ana", "history").stdout
        self.assertRegex(found, r"gpu1 > gpu2: throughput 94\d Mb/s → 60\d Mb/s")
        self.assertIn("gpu driver 550 → 570", " ".join(found.split()))
        self.assertIn("throughput_mbps", self.call("ana", "history", "gpu1").stdout)
        self.assertIn("gpu7", self.call("ana", "history", "gpu7", status=FAILED).stderr)
        self.assertRegex(self.call("ana", "history", "--list").stdout,
                         rf"gpu1 > gpu2 +throughput_mbps +{GOOD + BAD} ")

    def test_a_reader_checks_and_is_told_once(self):
        self.add_documents()
        words = ("history", "check", "--since", "48h", "--reported", self.folder / "reported")
        self.assertIn("gpu1 > gpu2", self.call("ana", *words, status=FOUND).stdout)
        self.call("ana", *words)

    def test_a_reader_exports(self):
        self.add_documents()
        rows = list(csv.DictReader(self.call("ana", "history", "export").stdout.splitlines()))
        self.assertEqual(GOOD + BAD, len(rows))
        self.assertEqual({"gpu1 > gpu2"}, {row["subject"] for row in rows})
        self.assertEqual(str(940), rows[0]["value"])

    def test_a_reader_neither_adds_nor_removes(self):
        self.add_documents("ana", FAILED)
        self.add_documents()
        self.assertIn("permission denied",
                      self.call("ana", "history", "prune", "--keep", "1h", status=FAILED).stderr)
        self.assertEqual(GOOD + BAD, self.rows())
        self.assertIn("permission denied", self.probe("ana").stderr)
        self.assertEqual(GOOD + BAD, self.rows())

    def test_what_an_account_may_not_add_waits_until_it_may(self):
        self.assertIn("kept in", self.probe("ana").stderr)
        self.server.run("GRANT chokepoint_node TO ana")
        self.addCleanup(self.server.run, "REVOKE chokepoint_node FROM ana")
        self.probe("ana")
        self.assertEqual(2, self.probes_of_rate())

    def test_who_is_in_both_roles_adds_and_reads(self):
        self.add_documents("gpu2")
        self.assertIn("gpu1 > gpu2", self.call("gpu2", "history").stdout)

    def test_the_owner_removes(self):
        self.add_documents()
        keep = f"{BAD * 60 + 30}m"
        self.assertIn(f"{GOOD} rows removed",
                      self.call("admin", "history", "prune", "--keep", keep).stderr)
        self.assertEqual(BAD, self.rows())

    def test_a_stranger_gets_nothing(self):
        self.add_documents()
        self.assertIn("permission denied",
                      self.call("stranger", "history", status=FAILED).stderr)
        self.assertIn("permission denied", self.probe("stranger").stderr)


class ServerDown(OnServer):
    def test_a_probe_ends_well_and_its_rows_are_handed_over_later(self):
        self.server.stop()
        for error in (self.probe("gpu1").stderr, self.add_documents(status=FAILED).stderr):
            self.assertIn("kept in", error)
        self.assertTrue(self.spool.exists())
        self.assertIn("connection to server", self.call("ana", "history", status=FAILED).stderr)
        self.server.start()
        self.assertEqual(0, self.rows())
        self.probe("gpu1")
        self.assertEqual(2, self.probes_of_rate())
        self.assertTrue(self.add_documents().stderr.startswith("0 rows are new"))


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    if postgres_server.programs() is None or not shutil.which("psql"):
        print("skipped: needs a server of PostgreSQL: scripts/setup test")
        sys.exit(SKIPPED)
    unittest.main()
