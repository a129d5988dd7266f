"""Callbacks that mark the steps of a Trainer, of Lightning and of Hugging Face's transformers.

Neither framework is imported here. A callback made where the framework is loaded already, as is
usual, is an object of a class that is made of the callback here and the framework's own base class,
so that isinstance() holds and hooks that later versions add are there. One that is made before gets
that class when it is first asked for its class, as a Trainer does by isinstance(): Lightning 2
refuses objects that only look like a callback.

A hook never raises, and nothing of it waits for a GPU.

With `log` a callback also logs the verdict so far, once a minute: live.py.
"""
import functools
import sys

from chokepoint.marking import STEP, mark, note_end_of_step

_classes = {}  # of a callback's class with the framework's


def _bases(places):
    """The base classes of what is loaded of a framework: it may be there by two names."""
    found = []
    for module, name in places:
        base = getattr(sys.modules.get(module), name, None)
        if isinstance(base, type) and base not in found:
            found.append(base)
    return tuple(found)


def _make(cls, *args, **kwargs):
    return cls(*args, **kwargs)


def _never_raises(hook):
    @functools.wraps(hook)
    def quiet(*args, **kwargs):
        try:
            hook(*args, **kwargs)
        except Exception:  # whatever it is, a job must not fail because it is watched
            pass
    return quiet


def _nothing(*_, **__):
    return None


def _joined(cls):
    """A callback's class with those of the framework, as far as they are loaded."""
    bases = () if cls._own_class else _bases(cls._PLACES)
    if not bases:
        return cls
    if (cls, bases) not in _classes:
        _classes[cls, bases] = type(cls.__name__, (cls, *bases),
                                    {"_own_class": cls, "__module__": cls.__module__,
                                     "__qualname__": cls.__qualname__, "__doc__": cls.__doc__})
    return _classes[cls, bases]


def _live_of(tracker):
    from chokepoint.live import LiveLog  # subprocess: not where a job only marks its steps
    return LiveLog(tracker)


class _Callback:
    _PLACES = ()
    _own_class = None  # the class that was asked for, in those that are made of it

    def __new__(cls, *args, **kwargs):
        return super().__new__(_joined(cls))

    def _settle(self):
        cls = type(self)
        joined = _joined(cls)
        if joined is cls:
            return cls
        object.__dict__["__class__"].__set__(self, joined)
        # isinstance() heeds what it is told here only if that is not the object's type itself.
        return type(cls.__name__, (joined,), {})

    __class__ = property(_settle)

    def __init__(self, samples=None, log=False):
        """`samples`: how much training data this rank processes in a step; by default what the
        trainer says of its batches. `log`: True, or where to log the verdict so far: what
        log_summary takes as a tracker."""
        self.samples = samples
        self._live = _live_of(None if log is True else log) if log else None
        self._has_tracker = log is not True

    def __reduce__(self):
        # A class that was made here has no name to be found by in another process.
        return _make, (self._own_class or type(self),), self.__dict__


class LightningCallback(_Callback):
    """`Trainer(callbacks=[chokepoint.LightningCallback()])`

    A step is an optimizer's step: with accumulate_grad_batches=4 four batches. Events: train-start,
    train-end, epoch-start, validation-start, validation-end, test-start, test-end, checkpoint.
    `log=True` logs by the trainer's own loggers.
    """

    _PLACES = (("lightning.pytorch.callbacks.callback", "Callback"),
               ("pytorch_lightning.callbacks.callback", "Callback"),
               ("pytorch_lightning.callbacks.base", "Callback"))

    @_never_raises
    def on_train_start(self, trainer, pl_module, *_):
        mark("train-start", trainer.global_step)

    @_never_raises
    def on_train_end(self, trainer, pl_module, *_):
        mark("train-end", trainer.global_step)

    @_never_raises
    def on_train_epoch_start(self, trainer, pl_module, *_):
        mark("epoch-start", trainer.current_epoch)

    @_never_raises
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx, *_):
        accumulated = getattr(trainer, "accumulate_grad_batches", 1)
        if batch_idx % accumulated == 0:
            mark(STEP, trainer.global_step, self._samples_of(trainer, accumulated))

    @_never_raises
    def on_train_batch_end(self, trainer, pl_module, *_):
        note_end_of_step()
        if self._live is not None and trainer.is_global_zero:
            self._log(trainer)

    @_never_raises
    def on_validation_start(self, trainer, pl_module, *_):
        mark("validation-start", trainer.global_step)

    @_never_raises
    def on_validation_end(self, trainer, pl_module, *_):
        mark("validation-end", trainer.global_step)

    @_never_raises
    def on_test_start(self, trainer, pl_module, *_):
        mark("test-start", trainer.global_step)

    @_never_raises
    def on_test_end(self, trainer, pl_module, *_):
        mark("test-end", trainer.global_step)

    @_never_raises
    def on_save_checkpoint(self, trainer, pl_module, *_):
        mark("checkpoint", trainer.global_step)

    def _log(self, trainer):
        if self._has_tracker:
            self._live(trainer.global_step)
            return
        figures = self._live.take()
        if figures:
            for logger in trainer.loggers:
                _log_to(logger, figures, trainer.global_step)

    def _samples_of(self, trainer, accumulated):
        if self.samples is not None:
            return self.samples
        batch_size = getattr(getattr(trainer, "train_dataloader", None), "batch_size", None)
        return batch_size * accumulated if isinstance(batch_size, int) else None


@_never_raises
def _log_to(logger, figures, step):
    logger.log_metrics(figures, step=step)


class TransformersCallback(_Callback):
    """`Trainer(..., callbacks=[chokepoint.TransformersCallback()])`

    A step is an optimizer's step: with gradient_accumulation_steps=4 four batches. Events:
    train-start, train-end, epoch-start, evaluation-start, evaluation-end, checkpoint. `log=True`
    logs to Weights & Biases and MLflow where they have a run; with `log=trainer.log`, in a callback
    that is added to a trainer, whatever the trainer reports to has the figures.
    """

    _PLACES = (("transformers.trainer_callback", "TrainerCallback"),)

    def __init__(self, samples=None, log=False):
        super().__init__(samples, log)
        self._is_evaluating = False

    def __getattr__(self, name):
        if name.startswith("on_"):
            return _nothing
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    @_never_raises
    def on_train_begin(self, args, state, control, **_):
        mark("train-start", state.global_step)

    @_never_raises
    def on_train_end(self, args, state, control, **_):
        mark("train-end", state.global_step)

    @_never_raises
    def on_epoch_begin(self, args, state, control, **_):
        mark("epoch-start", int(state.epoch or 0))

    @_never_raises
    def on_step_begin(self, args, state, control, **_):
        self._is_evaluating = False
        mark(STEP, state.global_step, self._samples_of(args))

    @_never_raises
    def on_step_end(self, args, state, control, **_):
        note_end_of_step()
        if self._live is not None and state.is_world_process_zero:
            self._live(state.global_step)

    @_never_raises
    def on_prediction_step(self, args, state, control, **_):
        # Nothing tells the beginning of an evaluation but the first batch of it, which is done.
        if not self._is_evaluating:
            self._is_evaluating = True
            mark("evaluation-start", state.global_step)

    @_never_raises
    def on_evaluate(self, args, state, control, **_):
        self._is_evaluating = False
        mark("evaluation-end", state.global_step)

    @_never_raises
    def on_predict(self, args, state, control, **_):
        self._is_evaluating = False
        mark("evaluation-end", state.global_step)

    @_never_raises
    def on_save(self, args, state, control, **_):
        mark("checkpoint", state.global_step)

    def _samples_of(self, args):
        if self.samples is not None:
            return self.samples
        return args.train_batch_size * args.gradient_accumulation_steps
