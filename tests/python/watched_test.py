#!/usr/bin/env python3
"""A job that marks its steps, watched by chokepoint, and its record read again."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import chokepoint

PROGRAM = os.environ["CHOKEPOINT_PROGRAM"]
STEPS = 12
TRAIN = f"""
import time, chokepoint
for number in range(100, {100 + STEPS}):
    with chokepoint.step(number, samples=32):
        time.sleep(0.1)
    if number == 110:
        chokepoint.mark("evaluation", number)
for batch in chokepoint.steps([[1, 2], [3]], samples=len):
    time.sleep(0.1)
time.sleep(0.3)  # is of no step
"""
RANKS = 64
STEPS_OF_EACH = 100
# No more steps than a connection holds until the watch reads them, so that none is lost however
# late it does.
AT_ONCE = f"""
import os, time, chokepoint
begin = time.monotonic() + 1
for rank in range({RANKS}):
    if os.fork() == 0:
        os.environ["RANK"] = str(rank)
        for number in range({STEPS_OF_EACH}):
            time.sleep(max(0, begin + number * 0.005 - time.monotonic()))
            with chokepoint.step(number):
                pass
        break
else:
    for _ in range({RANKS}):
        os.wait()
"""


class Watched(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        script = pathlib.Path(cls.folder.name, "train.py")
        script.write_text(TRAIN)
        cls.out = str(pathlib.Path(cls.folder.name, "run"))
        subprocess.run([PROGRAM, "run", "--quiet", "--out", cls.out, "--", sys.executable,
                        str(script)], check=True, timeout=60, env={**os.environ, "RANK": "1"})
        cls.run_of_it = chokepoint.load(cls.out, program=PROGRAM)

    def test_every_step_is_there_with_number_and_samples(self):
        steps = self.run_of_it.steps
        steps = steps[steps["source"] == "marks"]
        self.assertEqual(list(steps["number"]), list(range(100, 102 + STEPS)))
        self.assertEqual(list(steps["samples"]), [32] * STEPS + [2, 1])
        self.assertEqual(set(steps["rank"]), {1})
        self.assertTrue((steps["duration_s"] >= 0.099).all(), list(steps["duration_s"]))

    def test_the_last_step_ends_with_its_block(self):
        last = self.run_of_it.steps.iloc[-1]
        process = self.run_of_it.processes.iloc[0]
        self.assertGreater(process["end_s"] - last["end_s"], 0.25)

    def test_other_marks_are_events(self):
        marks = self.run_of_it.events[self.run_of_it.events["kind"] == "mark"]
        self.assertEqual(list(marks["subject"]), ["evaluation"])
        self.assertEqual(json.loads(marks["detail"].iloc[0]), {"number": 110, "rank": 1})

    def test_the_verdict(self):
        self.assertIsNone(self.run_of_it.verdict_reason)
        self.assertEqual(self.run_of_it.verdict["schema"].split("/")[0], "chokepoint.diagnosis")

    def test_what_is_loaded_is_what_is_exported(self):
        said = subprocess.run([PROGRAM, "export", self.out, "--to", "json"], check=True,
                              stdout=subprocess.PIPE).stdout
        tables = json.loads(said)["nodes"][0]["tables"]
        for name, exported in (("steps", "steps"), ("events", "events"), ("sessions", "sessions"),
                               ("processes", "processes")):
            columns, rows = tables[exported]["columns"], tables[exported]["rows"]
            frame = getattr(self.run_of_it, name)
            for column in columns:
                place = columns.index(column)
                ours = [None if value is None or value != value else value for value in
                        frame[column].astype("object").where(frame[column].notna(), None)]
                its = [row[place] for row in rows]
                if column.endswith("_s"):
                    for one, other in zip(ours, its):
                        self.assertTrue(one is other or abs(one - other) < 0.05, (name, column))
                else:
                    self.assertEqual(ours, its, (name, column))


class ManyRanksAtOnce(unittest.TestCase):
    def test_no_mark_is_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, "run", "--quiet", "--out", folder + "/run", "--",
                            sys.executable, "-c", AT_ONCE], check=True, timeout=90)
            steps = chokepoint.load(folder + "/run", program=PROGRAM).steps
        steps = steps[steps["source"] == "marks"]
        expected = list(range(STEPS_OF_EACH))
        for rank in range(RANKS):
            self.assertEqual(list(steps[steps["rank"] == rank]["number"]), expected, rank)


if __name__ == "__main__":
    unittest.main()
