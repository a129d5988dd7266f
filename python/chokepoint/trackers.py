"""A run's verdict in an experiment tracker: Weights & Biases, MLflow, TensorBoard, Ray.

None of them is imported here. A tracker is what the caller passes, known by its methods, or what
the process has imported and uses already. The figures are those of chokepoint's own documents, with
their names and units; nothing is computed here.
"""
import collections
import math
import os
import pathlib
import shutil
import sys
import tempfile

from chokepoint.marking import find_rank
from chokepoint.program import (ProgramError, as_path, document_of, failure_of, found, output_of)

RUN_VARIABLE = "CHOKEPOINT_RUN"
_PREFIX = "chokepoint/"
_PAGE = "report.html"
_MAX_TAG = 5_000  # characters; MLflow's servers refuse longer ones

# `page` and `markdown` are files.
Summary = collections.namedtuple("Summary", "figures texts page markdown")


class TrackerError(RuntimeError):
    """There is no tracker to log to, or the object that was passed is none."""


def _numbers(pairs):
    """Those that are known: a tracker has no null."""
    return {_PREFIX + name: value for name, value in pairs
            if isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value)}


def figures_of(diagnosis):
    """The numbers of a document chokepoint.diagnosis, by name."""
    steps, verdict = diagnosis.get("steps") or {}, diagnosis.get("verdict") or {}
    lost_ms = verdict.get("lost_ms_per_step")
    pairs = [("steps", steps.get("count")), ("step_ms", steps.get("mean_ms")),
             ("median_step_ms", steps.get("median_ms")), ("p99_step_ms", steps.get("p99_ms")),
             ("lost_ms_per_step", lost_ms), ("share_percent", verdict.get("share_percent")),
             ("confidence", verdict.get("confidence"))]
    # A curve for each class that was the verdict: a tracker draws numbers alone over time.
    pairs += [(f"verdict_ms/{verdict.get('class')}", lost_ms)]
    pairs += [(f"account_ms/{name}", ms)
              for name, ms in (diagnosis.get("accounting_ms_per_step") or {}).items()]
    return _numbers(pairs)


def place_of(where):
    """Where a verdict is, in words: 'gpu1 to gpu2', 'gpu1, eth0'."""
    sender, receiver = where.get("from"), where.get("to")
    parts = []
    if sender and receiver:
        link = f"{sender} to {receiver}"
        parts.append(link + (", both directions" if where.get("direction") == "both" else ""))
    else:
        parts.append(sender or receiver)
    parts += [where.get("node"), where.get("interface"), where.get("mount")]
    ranks = where.get("ranks") or [where.get("rank")]
    if ranks[0] is not None:
        parts.append(f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}")
    parts += [where.get("collective"), where.get("frame")]
    return ", ".join(part for part in parts if part)


def texts_of(diagnosis):
    """The words of a document chokepoint.diagnosis, by name; those that are known."""
    verdict = diagnosis.get("verdict") or {}
    pairs = [("class", verdict.get("class")), ("cause", verdict.get("cause")),
             ("place", place_of(verdict.get("where") or {})), ("verdict", verdict.get("sentence")),
             ("advice", "\n".join(verdict.get("advice") or []))]
    return {_PREFIX + name: text for name, text in pairs if text}


# Trackers. Each takes a summary at the end, and figures and texts meanwhile.

class _WandB:
    """A run of Weights & Biases."""

    def __init__(self, run):
        self._run = run

    def log_summary(self, summary, step):
        self._run.summary.update({**summary.figures, **summary.texts})
        html = sys.modules["wandb"].Html(pathlib.Path(summary.page).read_text("utf-8"),
                                         inject=False)
        self._log({_PREFIX + "report": html}, step)

    def log(self, figures, texts, step):
        self._log(figures, None)
        self._run.summary.update(texts)

    def _log(self, data, step):
        # Into the row that the training's next own log() ends: a row of chokepoint's would shift
        # the steps of the training's.
        self._run.log(data, step=step, commit=False)


class _MLflow:
    """The module, whose functions log to the active run."""

    def __init__(self, module):
        self._module = module

    def log_summary(self, summary, step):
        self.log(summary.figures, summary.texts, step)
        self._module.log_artifact(summary.page, "chokepoint")

    def log(self, figures, texts, step):
        if self._module.active_run() is None:  # they would begin one
            raise TrackerError("mlflow has no active run: mlflow.start_run() begins one")
        self._module.log_metrics(figures, step=step)
        self._module.set_tags(_short(texts))


class _MLflowClient:
    """A client of MLflow, and a run that need not be the active one."""

    def __init__(self, client, run_id):
        self._client = client
        self._run_id = run_id

    def log_summary(self, summary, step):
        self.log(summary.figures, summary.texts, step)
        self._client.log_artifact(self._run_id, summary.page, "chokepoint")

    def log(self, figures, texts, step):
        for name, value in figures.items():
            self._client.log_metric(self._run_id, name, value, step=step)
        for name, text in _short(texts).items():
            self._client.set_tag(self._run_id, name, text)


class _TensorBoard:
    """A SummaryWriter, of PyTorch or tensorboardX."""

    def __init__(self, writer):
        self._writer = writer

    def log_summary(self, summary, step):
        self._scalars(summary.figures, step)
        markdown = pathlib.Path(summary.markdown).read_text("utf-8")
        folder = _folder_of(self._writer)
        if folder:  # TensorBoard shows no page of HTML, so that it stands beside the events
            shutil.copyfile(summary.page, os.path.join(folder, "chokepoint-report.html"))
            markdown += f"\n\nThe page: `{os.path.join(folder, 'chokepoint-report.html')}`\n"
        self._writer.add_text(_PREFIX + "report", markdown, step)
        self._writer.flush()

    def log(self, figures, texts, step):
        self._scalars(figures, step)
        if _PREFIX + "verdict" in texts:
            self._writer.add_text(_PREFIX + "verdict", texts[_PREFIX + "verdict"], step)

    def _scalars(self, figures, step):
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)


class _Ray:
    """ray.train, whose report() every worker has to call, or ray.tune."""

    def __init__(self, module):
        self._module = module

    def rank(self):
        try:
            context = getattr(self._module, "get_context", lambda: self._module)()
            return context.get_world_rank() or 0
        except Exception:  # a function of Tune's is one process, and has no rank
            return 0

    def log_summary(self, summary, step):
        self._module.report({**summary.figures, **summary.texts})

    def log_nothing(self):
        self._module.report({})

    def log(self, figures, texts, step):
        """Of one rank alone, report() would wait for the others for ever: LiveLog.figures()."""


class _Function:
    """Anything that takes a dict of numbers, such as the log_metrics of another tracker."""

    def __init__(self, function):
        self._function = function

    def log_summary(self, summary, step):
        self._function(summary.figures)

    def log(self, figures, texts, step):
        self._function(figures)


def _short(texts):
    return {name: text[:_MAX_TAG] for name, text in texts.items()}


def _folder_of(writer):
    try:
        folder = getattr(writer, "log_dir", None) or writer.get_logdir()
        return folder if os.path.isdir(folder) else None
    except Exception:  # an address, or a writer that has none
        return None


def _has(tracker, *names):
    return all(callable(getattr(tracker, name, None)) for name in names)


def _known(tracker):
    """What logs to an object that was passed."""
    name = getattr(tracker, "__name__", "") if type(tracker) is type(sys) else ""
    if name == "wandb":
        if tracker.run is None:
            raise TrackerError("wandb has no run: wandb.init() begins one")
        return _WandB(tracker.run)
    if name == "mlflow":
        return _MLflow(tracker)
    if name.startswith("ray.") and _has(tracker, "report"):
        return _Ray(tracker)
    if _has(tracker, "log") and _has(getattr(tracker, "summary", None), "update"):
        return _WandB(tracker)
    if _has(tracker, "add_scalar", "add_text"):
        return _TensorBoard(tracker)
    run_id = getattr(getattr(tracker, "info", None), "run_id", None)
    if run_id:
        return _MLflowClient(sys.modules["mlflow"].tracking.MlflowClient(), run_id)
    experiment = getattr(tracker, "experiment", None)  # of a logger of Lightning
    if _has(experiment, "log_metric", "set_tag", "log_artifact") and \
            getattr(tracker, "run_id", None):
        return _MLflowClient(experiment, tracker.run_id)
    if experiment is not None:
        return _known(experiment)
    if callable(tracker):
        return _Function(tracker)
    raise TrackerError(f"{type(tracker).__name__} is no tracker that chokepoint knows: pass wandb, "
                       "mlflow, a SummaryWriter, ray.train, ray.tune, or a function that takes a "
                       "dict of numbers")


def in_use():
    """Trackers that this process has imported, and that have a run now."""
    found_here = []
    wandb, mlflow = sys.modules.get("wandb"), sys.modules.get("mlflow")
    if getattr(wandb, "run", None) is not None:
        found_here.append(_WandB(wandb.run))
    if _has(mlflow, "active_run") and mlflow.active_run() is not None:
        found_here.append(_MLflow(mlflow))
    return found_here


def trackers_of(tracker):
    """What logs to a tracker, to each of a list, or to those in use."""
    if tracker is None:
        return in_use()
    if isinstance(tracker, (list, tuple)):
        return [_known(each) for each in tracker]
    return [_known(tracker)]


def _folder_and_program(run):
    """Of a folder, of what `load` returned, or of the run that watches this process."""
    if run is None:
        run = os.environ.get(RUN_VARIABLE)
        if not run:
            raise ValueError("no run: 'chokepoint run' does not watch this process; "
                             "log_summary(folder) names the folder of one")
    return getattr(run, "folder", run), getattr(run, "program", None)


def _write(program, folder, path):
    code, _, complained = output_of(program, "report", as_path(folder), "-o", path)
    if code != 0:
        raise failure_of("report", code, complained)


def log_summary(run=None, tracker=None, step=None):
    """See chokepoint.log_summary."""
    if tracker is None and find_rank(os.environ):
        return None
    sinks = trackers_of(tracker)
    if not sinks:
        raise TrackerError("no tracker is in use: wandb has no run, mlflow no active run; pass one, "
                           "such as a SummaryWriter or ray.train")
    idle = [sink for sink in sinks if isinstance(sink, _Ray) and sink.rank() != 0]
    for sink in idle:
        sink.log_nothing()
    sinks = [sink for sink in sinks if sink not in idle]
    if not sinks:
        return None
    folder, program = _folder_and_program(run)
    program = found(program)
    diagnosis = document_of(program, "diagnose", as_path(folder), "--json")
    if "verdict" not in diagnosis:
        raise ProgramError(f"{program} is too old: its diagnosis has no verdict")
    with tempfile.TemporaryDirectory() as made:
        summary = Summary(figures_of(diagnosis), texts_of(diagnosis),
                          os.path.join(made, _PAGE), os.path.join(made, "report.md"))
        _write(program, folder, summary.page)
        _write(program, folder, summary.markdown)
        for sink in sinks:
            sink.log_summary(summary, step)
    return {**summary.figures, **summary.texts}
