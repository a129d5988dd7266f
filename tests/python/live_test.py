#!/usr/bin/env python3
"""The verdict so far, logged while a job runs: by programs that a test writes, and by chokepoint
itself, which watches a job."""
import copy
import json
import os
import pathlib
import pickle
import stat
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

import chokepoint
from chokepoint import live
from fake_trackers import LightningLogger, MLflow, Ray, SummaryWriter, WandB
from trainers import Lightning, Transformers, TransformersTrainer

PROGRAM = os.environ["CHOKEPOINT_PROGRAM"]
SAID = {"diagnosis": {"steps": {"count": 9, "mean_ms": 20.0},
                      "accounting_ms_per_step": {"compute": 12.0, "link": 8.0},
                      "verdict": {"class": "lan-loss", "sentence": "it loses", "where": {},
                                  "lost_ms_per_step": 8.0, "confidence": 0.5}}}
EXPECTED = {"chokepoint/steps": 9, "chokepoint/step_ms": 20.0, "chokepoint/lost_ms_per_step": 8.0,
            "chokepoint/confidence": 0.5, "chokepoint/verdict_ms/lan-loss": 8.0,
            "chokepoint/account_ms/compute": 12.0, "chokepoint/account_ms/link": 8.0}
JOB = """
import json, sys, time, chokepoint
from chokepoint import live
live.EVERY_S, live._MAX_SHARE = 0.3, 1
logged = []
log = chokepoint.LiveLog(logged.append, program=sys.argv[1])
for number in range(1000):
    with chokepoint.step(number, samples=8):
        time.sleep(0.05)
    log(number)
    if len(logged) > 1 and number > 30:
        break
json.dump(logged, open(sys.argv[2], "w"))
"""


class Live(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.calls = self.folder / "calls"
        for name, value in (("EVERY_S", 0.0), ("_MAX_SHARE", 1e9), ("_has_said", False)):
            changed = mock.patch.object(live, name, value)
            changed.start()
            self.addCleanup(changed.stop)
        self.said = mock.patch.object(sys, "stderr", self.errors())
        self.complaints = self.said.start()
        self.addCleanup(self.said.stop)
        self.addCleanup(self.finish_all)

    @staticmethod
    def finish_all():
        """No look goes on into the next test."""
        for thread in threading.enumerate():
            if thread.name == "chokepoint-live":
                thread.join(20)

    @staticmethod
    def errors():
        lines = []
        return types.SimpleNamespace(write=lines.append, lines=lines, flush=lambda: None)

    def program(self, script=None):
        (self.folder / "said").write_text(json.dumps(SAID))
        path = self.folder / "program"
        path.write_text(f"#!/bin/sh\necho \"$*\" >>'{self.calls}'\n" +
                        (script or f"cat '{self.folder}/said'"))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def log(self, tracker, script=None):
        return chokepoint.LiveLog(tracker, run="/runs/a", program=self.program(script))

    def count(self):
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0

    def finish(self, log):
        """Waits for the look that goes on."""
        if log._thread:
            log._thread.join(20)
            self.assertFalse(log._thread.is_alive())

    def steps(self, log, count=2):
        for number in range(count):
            log(number)
            self.finish(log)

    def test_what_a_look_finds_is_logged_at_the_next_step(self):
        logged = []
        log = self.log(logged.append)
        log(0)
        self.assertEqual(logged, [])
        self.finish(log)
        log(1)
        self.assertEqual(logged, [EXPECTED])
        self.assertEqual(self.calls.read_text().splitlines()[0], "live /runs/a --json --once")

    def test_once_a_minute_at_most(self):
        with mock.patch.object(live, "EVERY_S", 60.0):
            log = self.log([].append)
            with mock.patch.object(time, "monotonic") as clock:
                for now_s in range(0, 200):
                    clock.return_value = log._due_s if now_s == 0 else clock.return_value + 1
                    log._take()
                    while log._thread.is_alive():
                        pass
        self.assertEqual(self.count(), 4)  # at 0, 60, 120 and 180 s

    def test_never_more_than_its_share(self):
        with mock.patch.object(live, "_MAX_SHARE", 0.05):
            log = self.log([].append, "sleep 0.2")
            self.steps(log, 1)
            self.assertGreater(log._due_s - time.monotonic(), 0.2 / 0.05 - 1)

    def test_a_look_that_goes_on_is_not_waited_for(self):
        log = self.log([].append, "exec sleep 5")
        began_s = time.monotonic()
        for number in range(100):
            log(number)
        self.assertLess(time.monotonic() - began_s, 4)
        self.assertEqual(threading.active_count(), 2)
        self.assertLessEqual(self.count(), 1)
        self.finish(log)

    def test_a_look_that_takes_too_long_is_ended(self):
        with mock.patch.object(live, "_MAX_SECONDS", 0.2):
            log = self.log([].append, "exec sleep 60")
            began_s = time.monotonic()
            self.steps(log, 1)
        self.assertLess(time.monotonic() - began_s, 10)
        self.assertIn("timed out", self.complaints.lines[0])

    def test_nothing_raises_and_the_first_reason_is_said(self):
        def refuse(figures):
            raise ConnectionError("no route")
        for tracker, script, reason in (([].append, "echo why >&2; exit 1", "ended with 1: why"),
                                        ([].append, "echo [", "Expecting"),
                                        (refuse, None, "no route"), (None, None, "no tracker"),
                                        (3, None, "int is no tracker"),
                                        ([].append, "rm \"$0\"; exit 127", "ended with 127")):
            live._has_said = False
            self.complaints.lines.clear()
            self.steps(self.log(tracker, script), 3)
            self.assertEqual(len(self.complaints.lines), 1, reason)
            self.assertIn(reason, self.complaints.lines[0])

    def test_a_tracker_that_fails_keeps_nothing_from_others(self):
        def refuse(figures):
            raise ConnectionError("no route")
        logged = []
        self.steps(self.log([refuse, logged.append]))
        self.assertEqual(logged, [EXPECTED])

    def test_without_a_watch_nothing_is_started(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("CHOKEPOINT_RUN", None)
            self.steps(chokepoint.LiveLog([].append, program=self.program()), 3)
        self.assertEqual((self.count(), self.complaints.lines), (0, []))

    def test_other_ranks_start_nothing(self):
        with mock.patch.dict(os.environ, RANK="3"):
            log = self.log([].append)
            self.steps(log, 3)
            self.assertEqual(log.figures(), {})
        self.assertEqual(self.count(), 0)

    def test_the_child_is_no_rank(self):
        with mock.patch.dict(os.environ, RANK="0", SLURM_PROCID="0", CHOKEPOINT_MARKS="/x"):
            self.steps(self.log([].append, f"env >'{self.folder}/env'"), 1)
        names = {line.split("=")[0] for line in (self.folder / "env").read_text().splitlines()}
        self.assertIn("PATH", names)
        self.assertEqual(names & {"RANK", "SLURM_PROCID", "CHOKEPOINT_MARKS"}, set())

    def test_the_child_is_nice(self):
        self.steps(self.log([].append, f"nice >'{self.folder}/nice'"), 1)
        self.assertEqual((self.folder / "nice").read_text().strip(), "19")

    def test_weights_and_biases_in_the_jobs_own_rows(self):
        with WandB() as wandb:
            log = self.log(None)
            for number in range(3):
                log(number)
                wandb.run.log({"loss": number})
                self.finish(log)
        self.assertEqual([(step, row["loss"]) for step, row in wandb.run.rows],
                         [(0, 0), (1, 1), (2, 2)])
        self.assertEqual(wandb.run.rows[1][1], {**EXPECTED, "loss": 1})
        self.assertEqual(wandb.run.summary.values["chokepoint/verdict"], "it loses")

    def test_mlflow_in_the_jobs_own_run(self):
        with MLflow() as mlflow:
            mlflow.module.start_run()
            self.steps(self.log(None), 2)
            self.assertEqual(list(mlflow.runs), ["run0"], "a run of chokepoint's own was begun")
        self.assertEqual(mlflow.runs["run0"].metrics["chokepoint/account_ms/link"], [(8.0, 1)])
        self.assertEqual(mlflow.runs["run0"].tags["chokepoint/class"], "lan-loss")

    def test_tensorboard(self):
        writer = SummaryWriter()
        self.steps(self.log(writer), 2)
        self.assertEqual({name: value for name, [(value, _)] in writer.scalars.items()}, EXPECTED)
        self.assertEqual(writer.texts, {"chokepoint/verdict": "it loses"})

    def test_ray_reports_with_the_jobs_own(self):
        with Ray(rank=0) as ray:
            log = self.log(ray.module)
            self.steps(log, 3)
            self.assertEqual(ray.reported, [], "other workers would wait for ever")
            self.assertEqual(log.figures(), EXPECTED)

    def test_copies(self):
        logged = []
        log = self.log(None)
        self.steps(log, 1)
        for made in (pickle.loads(pickle.dumps(log)), copy.deepcopy(log)):
            made._tracker = logged.append
            self.steps(made, 2)
        self.assertEqual(logged[-1], EXPECTED)

    def callback(self, kind, log):
        made = kind(log=log)
        made._live._run, made._live._program = "/runs/a", self.program()
        made._live._due_s = 0
        return made

    def fit(self, callback, framework, **how):
        self.waiting(callback._live)
        framework._put[framework.package].Trainer(callbacks=[callback], **how).fit(
            "model", [1, 2, 3])

    def test_lightning(self):
        loggers = [LightningLogger(), LightningLogger()]
        loggers[0].log_metrics = mock.Mock(side_effect=ConnectionError)
        with Lightning() as framework:
            self.fit(self.callback(chokepoint.LightningCallback, True), framework, loggers=loggers)
        self.assertEqual(loggers[1].logged[0], (EXPECTED, 1))

    def test_lightning_on_another_rank(self):
        logger = LightningLogger()
        with Lightning() as framework:
            self.fit(self.callback(chokepoint.LightningCallback, True), framework,
                     loggers=[logger], is_global_zero=False)
        self.assertEqual((logger.logged, self.count()), ([], 0))

    def test_lightning_with_a_tracker(self):
        logged = []
        with Lightning() as framework:
            self.fit(self.callback(chokepoint.LightningCallback, logged.append), framework)
        self.assertEqual(logged[0], EXPECTED)

    def waiting(self, log):
        started = log._start

        def start():
            started()
            self.finish(log)
        log._start = start

    def train(self, callback_of, rank_zero=True):
        with Transformers():
            arguments = types.SimpleNamespace(train_batch_size=4, gradient_accumulation_steps=1,
                                              num_train_epochs=1)
            trainer = TransformersTrainer(args=arguments, train_dataset=range(3))
            trainer.state.is_world_process_zero = rank_zero
            trainer.add_callback(callback_of(trainer))
            self.waiting(trainer.callbacks[-1]._live)
            trainer.train()
        return trainer

    def test_hugging_face_by_the_trainer(self):
        trainer = self.train(lambda trainer: self.callback(chokepoint.TransformersCallback,
                                                           trainer.log))
        self.assertEqual(trainer.state.log_history[0], {**EXPECTED, "step": 1})

    def test_hugging_face_by_what_is_in_use(self):
        with WandB() as wandb:
            self.train(lambda _: self.callback(chokepoint.TransformersCallback, True))
        self.assertEqual(wandb.run.row, EXPECTED)

    def test_hugging_face_on_another_rank(self):
        trainer = self.train(lambda trainer: self.callback(chokepoint.TransformersCallback,
                                                           trainer.log), rank_zero=False)
        self.assertEqual((trainer.state.log_history, self.count()), ([], 0))

    def test_callbacks_that_log_can_be_copied(self):
        for kind in (chokepoint.LightningCallback, chokepoint.TransformersCallback):
            made = pickle.loads(pickle.dumps(copy.deepcopy(kind(samples=3, log=True))))
            self.assertEqual(made.samples, 3)
            self.assertIsInstance(made._live, chokepoint.LiveLog)


class OfAWatchedJob(unittest.TestCase):
    def test_what_is_logged_meanwhile(self):
        with tempfile.TemporaryDirectory() as folder:
            there = pathlib.Path(folder)
            (there / "job.py").write_text(JOB)
            subprocess.run([PROGRAM, "run", "--quiet", "--out", "run", "--", sys.executable,
                            "job.py", PROGRAM, "out.json"], cwd=folder, check=True, timeout=100,
                           env={**os.environ, "RANK": "0"})
            logged = json.loads((there / "out.json").read_text())
            shown = subprocess.run([PROGRAM, "export", "run", "--to", "json"], cwd=folder,
                                   check=True, stdout=subprocess.PIPE).stdout
        self.assertGreater(len(logged), 1)
        newest = logged[-1]
        self.assertGreater(newest["chokepoint/steps"], 5)
        self.assertGreater(newest["chokepoint/step_ms"], 49)
        self.assertAlmostEqual(sum(value for name, value in newest.items()
                                   if name.startswith("chokepoint/account_ms/")),
                               newest["chokepoint/step_ms"], delta=1)
        # The looks are processes of the job, and none of its ranks.
        table = json.loads(shown)["nodes"][0]["tables"]["processes"]
        looks = [row for row in (dict(zip(table["columns"], row)) for row in table["rows"])
                 if " live " in str(row)]
        self.assertEqual([row for row in looks if row["rank"] is not None], [])


if __name__ == "__main__":
    unittest.main()
