"""A job in a chroot is seen as one outside, though it has none of chokepoint's folders."""

import chroots
from checks import holds, same
from watched import Watched

MARKS = 1
STEPS = 20
TRAIN = f"""
import chokepoint, os, sys, time
if os.path.exists(os.environ["CHOKEPOINT_MARKS"]):
    sys.exit("the folder is here")
for number in range({STEPS}):
    with chokepoint.step(number):
        time.sleep(0.02)
"""


def trained(lab, *before):
    host = lab.host("left")
    job = [*chroots.inside("/", lab, host), *before, "env", "RANK=0",
           f"PYTHONPATH={chroots.TREE / 'python'}", chroots.PYTHON, "-B", "-c", TRAIN]
    return Watched(host, job, lab.folder / "run").wait()


def test_its_marks_arrive(lab):
    run = trained(lab)
    holds("no step marks" not in run.stderr(), run.stderr())
    with run.record() as record:
        steps = record.steps(MARKS)
    same([step["number"] for step in steps], list(range(STEPS)), "steps")
    same({step["rank"] for step in steps}, {0}, "ranks")


def test_one_line_says_where_they_cannot(lab):
    run = trained(lab, "unshare", "--net")
    same(run.stderr().count("no step marks"), 1, f"lines that say so in {run.stderr()}")
    with run.record() as record:
        same(record.steps(MARKS), [], "steps")
