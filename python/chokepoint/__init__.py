"""chokepoint in Python: steps of a training job are marked, and what was recorded is read.

    with chokepoint.step():            one step of a training loop
    for batch in chokepoint.steps(loader):
    chokepoint.mark("evaluation")      an event
    chokepoint.LightningCallback()     for a Trainer of Lightning
    chokepoint.TransformersCallback()  for a Trainer of Hugging Face
    chokepoint.load("runs/a").steps    a pandas DataFrame
    chokepoint.log_summary("runs/a")   the verdict in an experiment tracker
    chokepoint.LiveLog()               the verdict so far, once a minute

Marking needs nothing but Python, imports nothing of a framework, never raises and never waits.
`load` imports pandas.
"""
from chokepoint.callbacks import LightningCallback, TransformersCallback
from chokepoint.marking import mark, step, steps
from chokepoint.version import __version__

__all__ = ["LightningCallback", "LiveLog", "ProgramError", "RecordError", "TrackerError",
           "TransformersCallback", "__version__", "load", "log_summary", "mark", "step", "steps"]

_LATER = {"LiveLog": "live", "ProgramError": "program", "RecordError": "record",
          "TrackerError": "trackers"}  # sqlite3, subprocess: not where a job only marks its steps


def load(folder, program=None, max_rows=5_000_000):
    """What the records in a run's folder hold, as pandas DataFrames: see chokepoint.run.Run.

    `program` is the chokepoint that makes the verdict; by default the one on the PATH. At most
    `max_rows` rows of a table are read for each node.
    """
    from chokepoint.run import Run
    return Run(folder, program, max_rows)


def log_summary(run=None, tracker=None, step=None):
    """Puts a run's verdict, its account of a step and its page into an experiment tracker.

    `run`: a folder, or what `load` returned; by default the run that watches this process.
    `tracker`: wandb, a run of it, mlflow, a run of it, a SummaryWriter, ray.train, ray.tune, a
    logger of Lightning, a function that takes a dict of numbers, or a list of these. By default
    wandb and mlflow where they have a run; then other ranks than 0 log nothing. `step` is the
    tracker's.

    Returns what was logged as a dict, None where this rank logs nothing. Raises ProgramError where
    the command is missing or fails, TrackerError where there is no tracker.
    """
    from chokepoint.trackers import log_summary
    return log_summary(run, tracker, step)


def __getattr__(name):
    if name in _LATER:
        import importlib
        return getattr(importlib.import_module(f"chokepoint.{_LATER[name]}"), name)
    raise AttributeError(f"module 'chokepoint' has no attribute {name!r}")
