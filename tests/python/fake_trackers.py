"""Experiment trackers with the methods of the real ones, their arguments and what they refuse.

Weights & Biases: github.com/wandb/wandb at b6e29505, wandb/sdk/wandb_run.py (log: a step that is
  implicit ends with a call that commits), wandb_summary.py, data_types/html.py.
MLflow: github.com/mlflow/mlflow at 002518a7, mlflow/tracking/fluent.py (a function begins a run
  where the thread has none), client.py.
TensorBoard: PyTorch 1.13, torch/utils/tensorboard/writer.py.
Ray: github.com/ray-project/ray at 053f3ae1, python/ray/train/v2/api/train_fn_utils.py (all workers
  have to report equally often), ray.tune of 2.9.
Lightning: src/lightning/pytorch/loggers of 2.2.5.
"""
import os
import sys
import threading
import types


class Put:
    """A context: modules are imported meanwhile."""

    modules = {}

    def __enter__(self):
        sys.modules.update(self.modules)
        return self

    def __exit__(self, *_):
        for name in self.modules:
            sys.modules.pop(name, None)


class Html:
    def __init__(self, data, inject=True, data_is_not_path=False):
        if isinstance(data, str) and os.path.isfile(data) and not data_is_not_path:
            with open(data, encoding="utf-8") as file:
                data = file.read()
        elif not isinstance(data, str):
            raise ValueError("data must be a string or an io object")
        self.html = data
        self.is_changed = inject


class WandBSummary:
    def __init__(self):
        self.values = {}

    def update(self, d):
        self.values.update(d)


class WandBRun:
    """`rows` has what was committed, each with its step; `row` is the one that grows."""

    def __init__(self):
        self.summary = WandBSummary()
        self.rows = []
        self.row = {}
        self.step = 0

    def log(self, data, step=None, commit=None):
        if any(not isinstance(key, str) for key in data):
            raise ValueError("Key values passed to `wandb.log` must be strings.")
        if step is not None and step < self.step:
            return  # a warning, and the data are lost
        if step is not None and step > self.step:
            self._commit(step)
        self.row.update(data)
        if commit or (commit is None and step is None):
            self._commit(self.step + 1)

    def _commit(self, next_step):
        if self.row:
            self.rows.append((self.step, self.row))
        self.row, self.step = {}, next_step

    def finish(self, exit_code=None, quiet=None):
        self._commit(self.step)


class WandB(Put):
    def __init__(self, has_run=True):
        module = types.ModuleType("wandb")
        module.Html, module.run = Html, WandBRun() if has_run else None
        self.module, self.run, self.modules = module, module.run, {"wandb": module}


class MLflowRuns:
    """What a server has: metrics as (value, step), tags, artifacts."""

    def __init__(self):
        self.metrics, self.tags, self.artifacts = {}, {}, {}


class MlflowClient:
    def __init__(self, tracking_uri=None, registry_uri=None):
        pass

    runs = {}

    def log_metric(self, run_id, key, value, timestamp=None, step=None, synchronous=None):
        assert isinstance(value, (int, float)), value
        self.runs[run_id].metrics.setdefault(key, []).append((value, step or 0))

    def set_tag(self, run_id, key, value, synchronous=None):
        assert len(value) <= 5000
        self.runs[run_id].tags[key] = value

    def log_artifact(self, run_id, local_path, artifact_path=None):
        with open(local_path, encoding="utf-8") as file:
            name = os.path.join(artifact_path or "", os.path.basename(local_path))
            self.runs[run_id].artifacts[name] = file.read()


class MLflow(Put):
    def __init__(self):
        module = types.ModuleType("mlflow")
        module.tracking = types.ModuleType("mlflow.tracking")
        module.tracking.MlflowClient = MlflowClient
        MlflowClient.runs = {}
        active = threading.local()

        def start_run(run_id=None, experiment_id=None, run_name=None, nested=False):
            run_id = run_id or f"run{len(MlflowClient.runs)}"
            MlflowClient.runs.setdefault(run_id, MLflowRuns())
            active.run = types.SimpleNamespace(info=types.SimpleNamespace(run_id=run_id))
            return active.run

        def end_run(status="FINISHED"):
            active.run = None

        def active_run():
            return getattr(active, "run", None)

        def own(run_id=None):
            return run_id or (active_run() or start_run()).info.run_id

        def log_metrics(metrics, step=None, synchronous=None, run_id=None):
            for key, value in metrics.items():
                MlflowClient().log_metric(own(run_id), key, value, None, step)

        def set_tags(tags, synchronous=None):
            for key, value in tags.items():
                MlflowClient().set_tag(own(), key, value)

        def log_artifact(local_path, artifact_path=None, run_id=None):
            MlflowClient().log_artifact(own(run_id), local_path, artifact_path)

        for function in (start_run, end_run, active_run, log_metrics, set_tags, log_artifact):
            setattr(module, function.__name__, function)
        self.module, self.runs = module, MlflowClient.runs
        self.modules = {"mlflow": module, "mlflow.tracking": module.tracking}


class SummaryWriter:
    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120,
                 filename_suffix=""):
        self.log_dir = log_dir
        self.scalars, self.texts, self.is_flushed = {}, {}, False

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False,
                   double_precision=False):
        self.scalars.setdefault(tag, []).append((scalar_value, global_step))

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        self.texts[tag] = text_string

    def get_logdir(self):
        return self.log_dir

    def flush(self):
        self.is_flushed = True


class Ray(Put):
    """A worker of Ray Train, with its rank, or without one a function of Tune."""

    def __init__(self, rank=None):
        module = types.ModuleType("ray.tune" if rank is None else "ray.train")
        self.reported = []

        def report(metrics, checkpoint=None, checkpoint_dir_name=None):
            self.reported.append(dict(metrics))

        def get_context():
            if rank is None:
                raise RuntimeError("`get_world_rank` can only be called for TrainSession!")
            return types.SimpleNamespace(get_world_rank=lambda: rank)
        module.report, module.get_context = report, get_context
        self.module, self.modules = module, {"ray": types.ModuleType("ray"),
                                             module.__name__: module}


class LightningLogger:
    """What all of Lightning's have: log_metrics, and the tracker's own object as `experiment`."""

    def __init__(self, experiment=None, run_id=None):
        self.experiment = experiment
        self.logged = []
        if run_id:
            self.run_id = run_id

    def log_metrics(self, metrics, step=None):
        assert all(isinstance(value, (int, float)) for value in metrics.values())
        self.logged.append((dict(metrics), step))
