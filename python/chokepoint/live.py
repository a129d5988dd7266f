"""The verdict so far of the run that this process belongs to, for a tracker.

    the training's thread:  live(step)  ── due? ──> starts a look
                                 │                     │ a thread, once a minute at most:
                                 │                     │ nice chokepoint live --json --once RUN
                                 └── logs it <── _newest

A look is made beside the training; what it found is logged by the training's own thread, as its own
figures are: some trackers know their run by the thread, and others count steps. Nothing raises, and
nothing waits for a look. There is no lock, as in marking.py: what belongs together is one object
that is replaced as a whole.
"""
import os
import shutil
import sys
import threading
import time

from chokepoint import trackers
from chokepoint.marking import find_rank
from chokepoint.program import as_path, document_of, found

EVERY_S = 60.0
_MAX_SECONDS = 30  # of a look
_MAX_SHARE = 0.05  # of the time that looks take; they use one core, with the lowest priority

_has_said = False


class LiveLog:
    """Logs the account of a step and the verdict so far, on rank 0.

        live = chokepoint.LiveLog()
        for number, batch in enumerate(loader):
            train_on(batch)
            live(number)
    """

    def __init__(self, tracker=None, run=None, program=None):
        """`tracker`: as of log_summary; by default those that are in use when there is something
        to log. `run`: a folder; by default the one of the `chokepoint run` that watches."""
        self._tracker = tracker
        self._run = run
        self._program = program
        self._due_s = time.monotonic() + EVERY_S
        self._thread = None
        self._newest = None  # figures and texts that were not logged yet
        self._figures = {}

    def __getstate__(self):
        return {**self.__dict__, "_thread": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._due_s = time.monotonic() + EVERY_S  # another host's clock counts from elsewhere

    def __call__(self, step=None):
        """Logs what the newest look found, and starts one if it is time. At the end of a step."""
        try:
            found_now = self._take()
            if found_now is not None:
                self._log(found_now, step)
        except Exception as error:  # whatever it is, a job must not fail because it is watched
            _say_once(error)

    def figures(self):
        """The newest figures, to be reported along with the training's own; empty at first, and
        on other ranks than 0: ray.train.report({**metrics, **live.figures()})."""
        self.take()
        return dict(self._figures)

    def take(self):
        """The newest look's figures, once each; None where there is nothing new. For callbacks."""
        try:
            found_now = self._take()
            return None if found_now is None else found_now[0]
        except Exception as error:
            _say_once(error)
            return None

    def _log(self, found_now, step):
        found_here = trackers.trackers_of(self._tracker)
        if not found_here:
            raise trackers.TrackerError("no tracker is in use")
        for tracker in found_here:
            try:
                tracker.log(*found_now, step)
            except Exception as error:  # it keeps no figures from the others
                _say_once(error)

    def _take(self):
        now_s = time.monotonic()
        if now_s >= self._due_s:
            self._due_s = now_s + EVERY_S
            self._start()
        newest, self._newest = self._newest, None
        if newest is not None:
            self._figures = newest[0]
        return newest

    def _start(self):
        run = self._run or os.environ.get(trackers.RUN_VARIABLE)
        if not run or find_rank(os.environ) or (self._thread and self._thread.is_alive()):
            return
        self._thread = threading.Thread(target=self._look, args=(run,), daemon=True,
                                        name="chokepoint-live")
        self._thread.start()

    def _look(self, run):
        began_s = time.monotonic()
        try:
            diagnosis = _diagnosis_of(run, found(self._program))
            if diagnosis:
                self._newest = trackers.figures_of(diagnosis), trackers.texts_of(diagnosis)
        except Exception as error:
            _say_once(error)
        finally:
            took_s = time.monotonic() - began_s
            self._due_s = max(self._due_s, time.monotonic() + took_s / _MAX_SHARE)


def _diagnosis_of(run, program):
    nice = shutil.which("nice")
    before = (nice, "-n", "19") if nice else ()
    return document_of(program, "live", as_path(run), "--json", "--once", seconds=_MAX_SECONDS,
                       before=before).get("diagnosis")


def _say_once(error):
    """Why figures are missing in the tracker: the first reason, on standard error."""
    global _has_said
    if not _has_said:
        _has_said = True
        try:
            sys.stderr.write(f"chokepoint: no live figures: {error}\n")
        except Exception:  # no standard error, or nobody reads it
            pass
