#!/usr/bin/env python3
"""What log_summary puts into trackers is what chokepoint says of the demo's run."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import chokepoint
from chokepoint import program, trackers
from fake_trackers import LightningLogger, MLflow, MlflowClient, Ray, SummaryWriter, WandB

PROGRAM = os.environ["CHOKEPOINT_PROGRAM"]
NOWHERE = dict.fromkeys(("node", "from", "to", "direction", "interface", "mount", "rank", "ranks",
                         "collective", "frame"))


class OfTheDemo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = os.path.join(folder.name, "run")
        subprocess.run([PROGRAM, "demo", "--quiet", "--out", cls.folder], check=True,
                       stdout=subprocess.DEVNULL)
        os.remove(os.path.join(cls.folder, "report.html"))
        cls.said = json.loads(subprocess.run([PROGRAM, "diagnose", cls.folder, "--json"],
                                             check=True, stdout=subprocess.PIPE).stdout)
        found = mock.patch.object(program, "find", lambda: PROGRAM)
        found.start()
        cls.addClassCleanup(found.stop)

    def log(self, *arguments, **how):
        logged = chokepoint.log_summary(self.folder, *arguments, **how)
        self.assertEqual(sorted(os.listdir(self.folder)), ["gpu1.db", "gpu2.db"],
                         "something was written beside the records")
        return logged

    def check_figures(self, figures):
        verdict = self.said["verdict"]
        self.assertEqual(figures["chokepoint/step_ms"], self.said["steps"]["mean_ms"])
        self.assertEqual(figures["chokepoint/lost_ms_per_step"], verdict["lost_ms_per_step"])
        self.assertEqual(figures["chokepoint/share_percent"], verdict["share_percent"])
        self.assertEqual(figures["chokepoint/confidence"], verdict["confidence"])
        self.assertEqual({name.rpartition("/")[2]: value for name, value in figures.items()
                          if name.startswith("chokepoint/account_ms/")},
                         self.said["accounting_ms_per_step"])

    def check_texts(self, texts):
        verdict = self.said["verdict"]
        self.assertEqual(texts["chokepoint/class"], verdict["class"])
        self.assertEqual(texts["chokepoint/cause"], verdict["cause"])
        self.assertEqual(texts["chokepoint/place"], "gpu1 to gpu2")
        self.assertEqual(texts["chokepoint/verdict"], verdict["sentence"])
        self.assertEqual(texts["chokepoint/advice"].splitlines(), verdict["advice"])

    def check_page(self, page):
        self.assertIn("<!doctype html>", page[:100].lower())
        self.assertIn(self.said["verdict"]["sentence"], page)

    def test_weights_and_biases(self):
        with WandB() as wandb:
            wandb.run.log({"loss": 1.0})
            self.log()
            wandb.run.log({"loss": 0.5})
            wandb.run.finish()
        self.check_figures(wandb.run.summary.values)
        self.check_texts(wandb.run.summary.values)
        [(_, first), (step, second)] = wandb.run.rows
        self.assertEqual((first, step, second["loss"]), ({"loss": 1.0}, 1, 0.5),
                         "the job's own rows moved")
        page = second["chokepoint/report"]
        self.check_page(page.html)
        self.assertFalse(page.is_changed, "its policy allows no style but its own")

    def test_weights_and_biases_passed(self):
        for of in ("module", "run"):
            with WandB() as wandb:
                self.log(getattr(wandb, of))
                self.check_figures(wandb.run.summary.values)

    def test_mlflow(self):
        with MLflow() as mlflow:
            mlflow.module.start_run()
            self.log()
            self.log(mlflow.module, step=7)
        [run] = mlflow.runs.values()
        self.check_figures({name: points[0][0] for name, points in run.metrics.items()})
        self.assertEqual([step for _, step in run.metrics["chokepoint/step_ms"]], [0, 7])
        self.check_texts(run.tags)
        self.assertEqual(list(run.artifacts), ["chokepoint/report.html"])
        self.check_page(run.artifacts["chokepoint/report.html"])

    def test_a_run_of_mlflow_that_is_not_the_active_one(self):
        with MLflow() as mlflow:
            run = mlflow.module.start_run()
            mlflow.module.end_run()
            self.log(run)
            self.log(LightningLogger(MlflowClient(), run.info.run_id))
            with self.assertRaisesRegex(chokepoint.TrackerError, "no active run"):
                self.log(mlflow.module)
        [run] = mlflow.runs.values()
        self.check_figures({name: points[1][0] for name, points in run.metrics.items()})
        self.check_texts(run.tags)
        self.check_page(run.artifacts["chokepoint/report.html"])

    def test_tensorboard(self):
        with tempfile.TemporaryDirectory() as folder:
            for writer in (SummaryWriter(folder), LightningLogger(SummaryWriter(folder))):
                self.log(writer, step=3)
                writer = getattr(writer, "experiment", writer)
                self.check_figures({name: points[0][0] for name, points in writer.scalars.items()})
                self.assertEqual(writer.scalars["chokepoint/step_ms"][0][1], 3)
                self.assertIn(self.said["verdict"]["sentence"], writer.texts["chokepoint/report"])
                self.assertIn("chokepoint-report.html", writer.texts["chokepoint/report"])
                self.assertTrue(writer.is_flushed)
                page = pathlib.Path(folder, "chokepoint-report.html")
                self.check_page(page.read_text("utf-8"))
                page.unlink()

    def test_tensorboard_elsewhere(self):
        writer = SummaryWriter("s3://bucket/logs")
        self.log(writer)
        self.assertNotIn("chokepoint-report.html", writer.texts["chokepoint/report"])

    def test_the_real_tensorboard(self):
        try:
            from torch.utils.tensorboard import SummaryWriter as Real
        except ImportError:
            self.skipTest("TensorBoard is not installed")
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        with tempfile.TemporaryDirectory() as folder:
            with Real(folder) as writer:
                self.log(writer, step=3)
            events = EventAccumulator(folder)
            events.Reload()
            for name in ("step_ms", "account_ms/link"):
                [point] = events.Scalars(f"chokepoint/{name}")
                expected = self.said["steps"]["mean_ms"] if name == "step_ms" else \
                    self.said["accounting_ms_per_step"]["link"]
                self.assertAlmostEqual(point.value, expected, places=3)
                self.assertEqual(point.step, 3)

    def test_ray(self):
        with Ray(rank=0) as ray:
            self.log(ray.module)
        [reported] = ray.reported
        self.check_figures(reported)
        self.check_texts(reported)
        with Ray() as tune:
            self.log(tune.module)
        self.check_figures(tune.reported[0])

    def test_every_worker_of_ray_reports_once(self):
        with Ray(rank=1) as ray:
            self.assertIsNone(chokepoint.log_summary("/nowhere", ray.module))
        self.assertEqual(ray.reported, [{}])

    def test_ray_is_not_found_by_itself(self):
        with Ray(rank=0) as ray, self.assertRaisesRegex(chokepoint.TrackerError, "no tracker"):
            self.log()
        self.assertEqual(ray.reported, [])

    def test_a_function(self):
        figures = {}
        logged = self.log(figures.update)
        self.check_figures(figures)
        self.check_figures(logged)
        self.check_texts(logged)
        self.assertTrue(all(isinstance(value, (int, float)) for value in figures.values()))

    def test_several(self):
        with WandB() as wandb, MLflow() as mlflow:
            mlflow.module.start_run()
            self.log()
            figures = {}
            self.log([figures.update, wandb.module])
        self.check_figures(wandb.run.summary.values)
        self.assertEqual(len(mlflow.runs["run0"].metrics["chokepoint/step_ms"]), 1)
        self.check_figures(figures)

    def test_what_load_returned(self):
        figures = {}
        chokepoint.log_summary(types.SimpleNamespace(folder=self.folder, program=PROGRAM),
                               figures.update)
        self.check_figures(figures)

    def test_the_run_that_watches(self):
        figures = {}
        with mock.patch.dict(os.environ, CHOKEPOINT_RUN=self.folder):
            chokepoint.log_summary(tracker=figures.update)
        self.check_figures(figures)
        with self.assertRaisesRegex(ValueError, "does not watch"):
            chokepoint.log_summary(tracker=figures.update)

    def test_other_ranks_log_nothing(self):
        with WandB() as wandb, mock.patch.dict(os.environ, RANK="1"):
            self.assertIsNone(self.log())
            self.assertEqual(wandb.run.summary.values, {})
            self.log(wandb.module)
        self.check_figures(wandb.run.summary.values)

    def test_without_the_command(self):
        with mock.patch.object(program, "find", lambda: None), \
                self.assertRaisesRegex(chokepoint.ProgramError, "is not installed"):
            self.log(print)

    def test_a_folder_without_a_record(self):
        with tempfile.TemporaryDirectory() as empty, \
                self.assertRaisesRegex(chokepoint.ProgramError, "diagnose ended with 1: "):
            chokepoint.log_summary(empty, print)

    def test_without_a_tracker(self):
        for has_run in (None, False):
            with WandB(has_run=False) if has_run is not None else mock.MagicMock(), \
                    self.assertRaisesRegex(chokepoint.TrackerError, "no tracker is in use"):
                self.log()
        with self.assertRaisesRegex(chokepoint.TrackerError, "int is no tracker"):
            self.log(3)
        with WandB(has_run=False) as wandb, \
                self.assertRaisesRegex(chokepoint.TrackerError, "wandb has no run"):
            self.log(wandb.module)

    def test_a_failure_of_the_tracker_is_the_callers(self):
        def refuse(figures):
            raise ConnectionError("no route")
        with self.assertRaises(ConnectionError):
            self.log(refuse)


class Figures(unittest.TestCase):
    def test_what_is_not_known_is_left_out(self):
        figures = trackers.figures_of({
            "steps": {"count": None, "mean_ms": None}, "accounting_ms_per_step": None,
            "verdict": {"class": "unknown", "lost_ms_per_step": None, "confidence": 0.0}})
        self.assertEqual(figures, {"chokepoint/confidence": 0.0})
        self.assertEqual(trackers.texts_of({"verdict": {"class": "compute", "cause": None,
                                                        "where": NOWHERE, "sentence": "s",
                                                        "advice": []}}),
                         {"chokepoint/class": "compute", "chokepoint/verdict": "s"})

    def test_numbers_alone(self):
        figures = trackers.figures_of({"steps": {"count": True, "mean_ms": float("nan")},
                                       "verdict": {"share_percent": "7"}})
        self.assertEqual(figures, {})

    def test_places(self):
        for where, words in (
                ({"from": "a", "to": "b"}, "a to b"),
                ({"from": "a", "to": "b", "direction": "both"}, "a to b, both directions"),
                ({"node": "a", "interface": "eth0"}, "a, eth0"),
                ({"node": "a", "mount": "/data"}, "a, /data"),
                ({"node": "a", "rank": 0}, "a, rank 0"),
                ({"rank": 1, "ranks": [1, 3]}, "ranks 1, 3"),
                ({"from": "a"}, "a"), ({}, "")):
            self.assertEqual(trackers.place_of({**NOWHERE, **where}), words)


class Imports(unittest.TestCase):
    def test_no_tracker_is_imported(self):
        look = ("import sys, chokepoint, chokepoint.trackers, chokepoint.live;"
                "print([name for name in ('wandb', 'mlflow', 'torch', 'tensorboard', 'ray', "
                "'pandas', 'numpy') if name in sys.modules])")
        said = subprocess.run([sys.executable, "-c", look], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        self.assertEqual(said.strip(), "[]")

    def test_marking_alone_starts_no_children(self):
        look = ("import sys, chokepoint; chokepoint.mark(); chokepoint.LightningCallback();"
                "print('subprocess' in sys.modules, 'chokepoint.trackers' in sys.modules)")
        said = subprocess.run([sys.executable, "-c", look], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        self.assertEqual(said.strip(), "False False")


if __name__ == "__main__":
    unittest.main()
