"""Every stored play judged: by its whole records, by those of its first steps, and by records from
which something was taken (tests/bench/attribution/lacking.py)."""

import concurrent.futures
import contextlib
import dataclasses
import os

import judging
import lacking

WHOLE, EARLY = "whole", "early"
WITHOUT = {f"without-{what}": what for what in lacking.CHOICES}
RECORDS = (WHOLE, EARLY, *WITHOUT)
NO_ALARM = ("compute", "unknown")


@contextlib.contextmanager
def shown(case, record):
    """The case with these records to be diagnosed."""
    if record in WITHOUT:
        with lacking.case_without(case, WITHOUT[record]) as given:
            yield given
    else:
        folder = "records" if record == WHOLE else judging.EARLY
        yield dataclasses.replace(case, lacking=case.folder / folder)


def judged(program, case, play, record):
    with shown(case, record) as given:
        found = judging.held(given, *judging.answer(program, given.records))
    return of_play(found, case, play, record)


def of_play(found, case, play, record):
    """What was judged, as tables of the corpus want it."""
    for word in ("folder", "half", "confirmation"):
        found.pop(word)
    if record == EARLY:
        found["lost"] = None  # the truth is of all steps
    return {**found, "record": record, "kind": play.kind, "shape": play.shape, "set": play.set,
            "alarm": case.is_healthy and found["told"]["class"] not in NO_ALARM,
            "off_of_step": off_of_step(found)}


def off_of_step(found):
    """Lost time told less the true one, as a share of the step; of right classes."""
    lost = found["lost"]
    if not lost or not found["class_right"] or lost["told"] is None:
        return None
    return (lost["told"] - lost["true"]) / found["step_ms"]["true"]


def records_of(case):
    """Without those of the first steps where there are none, or the fault came after them."""
    has_early = (case.folder / judging.EARLY).is_dir() and not case.begins_late
    return [record for record in RECORDS if record != EARLY or has_early]


def all_of(corpus, plays, program):
    """A document for each play and record; as many plays at a time as there are processors."""
    def each(play):
        with corpus.opened(play) as case:
            return [judged(program, case, play, record) for record in records_of(case)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [one for found in pool.map(each, plays) for one in found]


def within(found, share):
    """Whether the lost time is that near; nothing where there is none to be told."""
    lost = found["lost"]
    if not lost or not found["class_right"]:
        return None
    return lost["off"] is not None and abs(lost["off"]) <= share
