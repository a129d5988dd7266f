"""chokepoint in Python: steps of a training job are marked, and what was recorded is read.

    with chokepoint.step():            one step of a training loop
    for batch in chokepoint.steps(loader):
    chokepoint.mark("evaluation")      an event
    chokepoint.LightningCallback()     for a Trainer of Lightning
    chokepoint.TransformersCallback()  for a Trainer of Hugging Face
    chokepoint.load("runs/a").steps    a pandas DataFrame

Marking needs nothing but Python, imports nothing of a framework, never raises and never waits.
`load` imports pandas.
"""
from chokepoint.callbacks import LightningCallback, TransformersCallback
from chokepoint.marking import mark, step, steps
from chokepoint.version import __version__

__all__ = ["LightningCallback", "RecordError", "TransformersCallback", "__version__", "load",
           "mark", "step", "steps"]


def load(folder, program=None, max_rows=5_000_000):
    """What the records in a run's folder hold, as pandas DataFrames: see chokepoint.run.Run.

    `program` is the chokepoint that tells the verdict; the one on the PATH if not given. Of a table
    no more than `max_rows` rows of each node are read.
    """
    from chokepoint.run import Run  # sqlite3, subprocess: not where a job only marks its steps
    return Run(folder, program, max_rows)


def __getattr__(name):
    if name == "RecordError":
        from chokepoint.record import RecordError
        return RecordError
    raise AttributeError(f"module 'chokepoint' has no attribute {name!r}")
