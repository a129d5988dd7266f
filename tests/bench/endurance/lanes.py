"""Plays that run side by side: each lane is a process with a lab of its own, because a lab is for
one thread, and a play mostly sleeps."""

import multiprocessing
import pathlib
import queue
import signal
import sys
import traceback

from lab import Failed, Lab, Skipped

SECONDS_TO_STOP = 30


def say(text):
    print(text, file=sys.stderr, flush=True)


class Lanes:
    """`work(lab)` makes what a lane needs, once, and returns the function that plays a case."""

    def __init__(self, count, programs, work):
        self.cases, self.results = multiprocessing.Queue(), multiprocessing.Queue()
        self.processes = [multiprocessing.Process(target=lane, daemon=False, args=(
            programs, work, self.cases, self.results)) for _ in range(count)]

    def play(self, cases, progress, until=None):
        """The result of each case that was played before `until` says that time is up; `progress`
        is called with all so far after each."""
        found, waiting, running = [], iter(cases), 0
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no lane is left
        for process in self.processes:
            process.start()
        try:
            running += sum(self.hand_out(waiting, until) for _ in self.processes)
            while running:
                result = self.result()
                if "unplayable" in result:
                    raise Skipped(result["unplayable"])
                running -= 1
                found.append(result)
                progress(found)
                running += self.hand_out(waiting, until)
        finally:
            self.stop()
        return found

    def hand_out(self, waiting, until):
        case = None if until and until() else next(waiting, None)
        if case is not None:
            self.cases.put(case)
        return case is not None

    def result(self):
        while True:
            try:
                return self.results.get(timeout=5)
            except queue.Empty:
                if not any(process.is_alive() for process in self.processes):
                    raise Failed("all lanes have ended") from None

    def stop(self):
        for _ in self.processes:
            self.cases.put(None)
        for process in self.processes:
            process.join(SECONDS_TO_STOP)
            if process.is_alive():
                process.terminate()


def lane(programs, work, cases, results):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with Lab([pathlib.Path(program).parent for program in programs]) as lab:
            play = work(lab)
            while (case := cases.get()) is not None:
                results.put(played(play, case))
    except Skipped as reason:
        results.put({"unplayable": str(reason)})
    except Failed as failure:
        results.put({"unplayable": f"the lane could not be set up: {failure}"})


def played(play, case):
    """A play that could not be brought to its end counts as one that complains."""
    try:
        return play(case)
    except Failed as failure:
        return {**case, "complaints": [f"not played to its end: {failure}"]}
    except Exception:  # noqa: BLE001 the bench goes on, and says where it was
        return {**case, "complaints": [traceback.format_exc()]}
