#!/usr/bin/env python3
"""The examples of docs/guide/python.md and trackers.md, and the notebook, do what they say, on a record
of a real job."""
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest

import matplotlib
import nbclient
import nbformat

import chokepoint
from fake_trackers import Ray, WandB
from trainers import Lightning, Transformers, TransformersTrainer

TREE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["CHOKEPOINT_PROGRAM"]
TRAIN = """
import chokepoint, socket, threading, time
here, there = socket.socket(), socket.create_server(("127.0.0.1", 0))
def read(connection):
    while connection.recv(1 << 16): pass
here.connect(there.getsockname())
threading.Thread(target=read, args=[there.accept()[0]], daemon=True).start()
for number in range(30):
    with chokepoint.step(number, samples=16):
        here.sendall(bytes(1 << 18))
        time.sleep(0.02 if number % 10 else 0.05)
chokepoint.mark("checkpoint", 30)
"""


class Batches(list):
    batch_size = 2


def blocks(page):
    """The Python of the document, each with the line where it stands."""
    text = (TREE / page).read_text()
    return [(text.count("\n", 0, found.start()) + 1, found[1])
            for found in re.finditer(r"```python\n(.*?)```", text, re.S)]


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "train.py").write_text(TRAIN)
        subprocess.run([PROGRAM, "run", "--quiet", "--out", "runs/a", "--", sys.executable,
                        "train.py"], cwd=cls.folder, check=True, timeout=60)
        os.symlink(PROGRAM, cls.folder / "chokepoint")
        os.environ["PATH"] = f"{cls.folder}:{os.environ['PATH']}"

    def run_blocks(self, page, names):
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        for line, block in blocks(page):
            with self.subTest(f"{page}:{line}"), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, f"{page}:{line}", "exec"), names)

    def test_the_document(self):
        names = {"loader": Batches(range(3)), "train_on": lambda batch: None,
                 "evaluate": lambda: None, "model": "model", "dataset": [1, 2],
                 "args": types.SimpleNamespace(train_batch_size=1, gradient_accumulation_steps=1,
                                               num_train_epochs=1)}
        matplotlib.use("agg")
        self.assertGreater(len(blocks("docs/guide/python.md")), 5)
        with Lightning(), Transformers():
            self.run_blocks("docs/guide/python.md", names)
        self.assertGreater(len(names["run"].steps), 0)

    def test_the_page_about_trackers(self):
        arguments = types.SimpleNamespace(train_batch_size=1, gradient_accumulation_steps=1,
                                          num_train_epochs=1)
        self.assertGreater(len(blocks("docs/guide/trackers.md")), 4)
        with Lightning() as lightning, Transformers(), WandB() as wandb, Ray(rank=0) as ray:
            top = types.ModuleType("ray")
            top.train = ray.module
            trainer = TransformersTrainer(args=arguments)
            self.run_blocks("docs/guide/trackers.md", {
                "loader": [1, 2], "train_on": lambda batch: None, "metrics": {"loss": 1.0},
                "pl": lightning._put["lightning.pytorch"], "trainer": trainer, "ray": top})
        text = (TREE / "docs/guide/trackers.md").read_text()
        for name in re.findall(r"`([a-z]\w+_(?:ms|percent|step)|steps|confidence|class|verdict|"
                               r"advice)`", text.partition("## What is logged")[2]):
            self.assertIn(f"chokepoint/{name}", wandb.run.summary.values)
        self.assertEqual(ray.reported, [{"loss": 1.0}])

    def test_the_document_names_what_there_is(self):
        text = (TREE / "docs/guide/python.md").read_text()
        run = chokepoint.load(self.folder / "runs/a")
        tables = re.findall(r"^\| `run\.(\w+)`", text, re.M)
        self.assertGreater(len(tables), 8)
        for name in tables:
            self.assertTrue(hasattr(run, name), name)

    def test_the_notebook(self):
        notebook = nbformat.read(TREE / "python/examples/run.ipynb", as_version=4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            self.assertEqual(cell.get("outputs", []), [], "it is kept without what it printed")
        os.environ["CHOKEPOINT_RUN"] = "runs/a"
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3",
                                resources={"metadata": {"path": str(self.folder)}}).execute()
        said = str([cell.get("outputs") for cell in notebook.cells])
        self.assertTrue("image/png" in said, "no plot")


if __name__ == "__main__":
    unittest.main()
