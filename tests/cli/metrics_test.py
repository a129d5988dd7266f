#!/usr/bin/env python3
"""usage: metrics_test.py CHOKEPOINT [TEST…]

`chokepoint run --metrics` on a host of several jobs: which port each serves, what Prometheus would
read there, and where the port can be found afterwards.
"""

import os
import pathlib
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

PROGRAM = ""
PATIENCE_S = 30
PORTS = 16
HELP = re.compile(r"# HELP (chokepoint_\w+) [^\n]+")
TYPE = re.compile(r"# TYPE (chokepoint_\w+) (counter|gauge)")
SAMPLE = re.compile(r'(chokepoint_\w+)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)')


def free_port():
    """The first of PORTS that are all free."""
    for port in range(21200, 32000, PORTS):
        try:
            with socket.socket() as one, socket.socket() as next_one:
                one.bind(("127.0.0.1", port))
                next_one.bind(("127.0.0.1", port + 1))
                return port
        except OSError:
            continue
    raise AssertionError("no port is free")


def page_of(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as reply:
        return reply.read().decode()


def samples_in(page):
    """Values by name and labels; each line is what the text format wants."""
    samples = {}
    family = ""
    for line in page.splitlines():
        if head := HELP.fullmatch(line) or TYPE.fullmatch(line):
            family = head[1]
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample and sample[1] == family, line
        key = sample[1] + (sample[2] or "")
        assert key not in samples, line
        samples[key] = float(sample[3])
    return samples


class Jobs(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="chokepoint-metrics-")
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.started = []
        self.addCleanup(self.end)
        self.port = free_port()

    def start(self, name, *options, **variables):
        """A job that marks steps until the test ends."""
        script = f'until [ -e "{self.folder}/end" ]; do "{PROGRAM}" mark step; sleep 0.1; done; exit 5'
        environment = {"XDG_CONFIG_HOME": str(self.folder), **os.environ, "RANK": "3", **variables}
        errors = (self.folder / f"{name}.err").open("w")
        self.addCleanup(errors.close)
        job = subprocess.Popen([PROGRAM, "run", "--out", self.folder / name, "--node", name,
                                "--packets", "off", *options, "--", "sh", "-c", script],
                               env=environment, stderr=errors, stdout=subprocess.DEVNULL)
        self.started.append(job)

    def end(self):
        (self.folder / "end").touch()
        return [job.wait(PATIENCE_S) for job in self.started]

    def served(self, port, name):
        """The samples of that node, once its steps are known."""
        until = time.monotonic() + PATIENCE_S
        found = {}
        while time.monotonic() < until:
            try:
                found = samples_in(page_of(port))
            except OSError:
                pass
            if any(f'node="{name}"' in key for key in found) and \
                    any(key.startswith("chokepoint_steps_total") for key in found):
                return found
            time.sleep(0.1)
        self.fail(f"no steps of {name} at port {port}: {sorted(found)}\n{self.errors(name)}")

    def errors(self, name):
        return (self.folder / f"{name}.err").read_text()

    def addresses(self, name):
        with sqlite3.connect(self.folder / name / f"{name}.db") as record:
            return [row[0] for row in record.execute(
                "select subject from event where kind = 'metrics-served'")]

    def test_two_jobs_of_a_setting_have_a_port_each(self):
        setting = {"CHOKEPOINT_METRICS": f"127.0.0.1:{self.port}"}
        self.start("a", **setting)
        first = self.served(self.port, "a")
        self.start("b", '--label', 'odd"\n=a"b\\', **setting)
        second = self.served(self.port + 1, "b")
        for samples in (first, second):
            self.assertIn('chokepoint_rank_steps_total{rank="3"}', samples)
            self.assertEqual(
                1, sum(key.startswith("chokepoint_run_info") for key in samples))
        self.assertNotIn("metrics at", self.errors("a"))
        self.assertIn(f"metrics at 127.0.0.1:{self.port + 1}\n", self.errors("b"))
        self.assertEqual([5, 5], self.end())
        self.assertEqual([f"127.0.0.1:{self.port}"], self.addresses("a"))
        self.assertEqual([f"127.0.0.1:{self.port + 1}"], self.addresses("b"))

    def test_a_port_that_was_typed_is_that_port_or_none(self):
        self.start("a", "--metrics", f"127.0.0.1:{self.port}")
        self.served(self.port, "a")
        self.start("b", f"--metrics=127.0.0.1:{self.port}",
                   CHOKEPOINT_METRICS=f"127.0.0.1:{self.port + 2}")
        until = time.monotonic() + PATIENCE_S
        while not (self.folder / "b" / "b.db").exists() and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual([5, 5], self.end())
        warned = [line for line in self.errors("b").splitlines() if line.startswith("chokepoint: run:")]
        self.assertEqual(1, len(warned), warned)
        self.assertIn("in use", warned[0])
        self.assertEqual([], self.addresses("b"))

    def test_a_port_that_is_left_to_run_is_printed(self):
        self.start("a", "--metrics", "auto")
        until = time.monotonic() + PATIENCE_S
        while not (found := re.search(r"metrics at 127\.0\.0\.1:(\d+)\n", self.errors("a"))):
            self.assertLess(time.monotonic(), until, self.errors("a"))
            time.sleep(0.1)
        self.assertIn(int(found[1]), range(9464, 9464 + PORTS))
        self.served(int(found[1]), "a")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
