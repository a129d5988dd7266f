"""Faults of disk, memory, clock, interfaces and of chokepoint's own processes, while a real Gloo job
is watched: in all of them the job must come to what it comes to without chokepoint."""

import collections
import fnmatch
import random
import shutil
import time

import plays
from fault_kinds import KINDS, Case
from lanes import Lanes
from plays import JOBS, Stage
from watchers import FRONT, Kept, left_over, opens, role_of

NODE = "left"  # where the fault is; the other rank is not watched
STRIKE_SHARE = 1.05  # of the time that the job takes: past its end, too
# What docs/guide/run.md names for a disk that does not answer is 2 s; a busy machine takes longer.
MOST_S_AFTER_JOB = 6
RELIEF_S = 15
# A second is what is promised of a kill. A batch that meets a full or frozen disk is tried again
# later, and is not there where the job ends before.
MOST_LOST_S = 2


class Harmer:
    def __init__(self, lab, program, expected):
        self.lab, self.program, self.expected = lab, program, expected
        self.stage = Stage(lab, program)

    def play(self, case):
        chance = random.Random(case["chance"])
        folder = self.stage.next_folder()
        made = Case(self.lab, self.stage, chance, folder)
        try:
            return self.with_fault(made, case, chance)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def with_fault(self, made, case, chance):
        with KINDS[case["kind"]](made) as fault:
            how = {"out": fault.out, "options": fault.options, "before": fault.before,
                   "environment": fault.environment, "first": fault.first}
            play = self.stage.play(JOBS["gloo"], {NODE: how}, made.folder)
            try:
                struck_ns = self.strike(play, fault, chance)
                play.end()
                fault.relieve()
                return {**case, **self.judged(play, fault, struck_ns)}
            finally:
                fault.relieve()
                play.close()

    def strike(self, play, fault, chance):
        """At a random moment; where chokepoint itself is killed, once the job has started."""
        if fault.needs_job:
            play.until(lambda: play.has_started(NODE), "start of the job")
        else:
            play.until(lambda: role_of(play.processes[NODE].pid) == FRONT, "chokepoint")
        time.sleep(chance.random() * STRIKE_SHARE * play.job.steps * play.job.step_ms / 1000)
        struck_ns = time.monotonic_ns()
        fault.strike(play)
        return struck_ns

    def judged(self, play, fault, struck_ns):
        rest = left_over(self.stage.hosts[NODE], RELIEF_S)
        found = play.differs_from(self.expected, but=(NODE,) if fault.ends_front else ())
        harmed = bool(found)
        if fault.may_harm:
            found = []
        if rest:
            found.append(f"processes {rest} of chokepoint are left")
        after_s = (play.closed_ns - play.ended_ns) / 1e9
        if after_s > MOST_S_AFTER_JOB:
            found.append(f"the job's end was reported {after_s:.1f} s later")
        return {"harmed": harmed, "was_met": bool(fault.was_met(play)), "after_s": after_s,
                "complaints": found + self.record_complaints(play, fault, struck_ns),
                "told": told(play)}

    def record_complaints(self, play, fault, struck_ns):
        if not fault.keeps_record:
            return []
        kept = Kept(play.out(NODE), NODE)
        if kept.begun_ns is None:
            return []
        found = [] if kept.is_sound else ["the record is damaged"]
        if fault.has_moment and not kept.is_complete:
            found += gaps(play, fault, kept, struck_ns)
        return found + opens(self.program, play.out(NODE))


def gaps(play, fault, kept, struck_ns):
    by_ns = struck_ns - round(MOST_LOST_S * 1e9)
    lost = kept.lost_steps(play.truth(NODE), by_ns) if fault.sees_output else []
    missing_s = kept.missing_s(struck_ns) or 0
    return [*([f"steps {lost}, {MOST_LOST_S} s older than the fault, are missing"] if lost else []),
            *([f"the last {missing_s:.2f} s before it are missing"]
              if missing_s > MOST_LOST_S else [])]


def told(play):
    """What chokepoint said of it, without the play's own folder."""
    return [line.replace(str(play.folder), "…") for line in
            play.processes[NODE].stderr().splitlines() if line.startswith("chokepoint: run: ")]


def wanted(asked):
    return [kind for kind in KINDS
            if any(fnmatch.fnmatch(kind, glob) for glob in asked.only.split(","))]


def measure(asked, lab, progress, until=None):
    """Kinds in turn, so that all of them have been played as often where time was up."""
    stage = Stage(lab, asked.chokepoint)
    expected = plays.alone(stage, JOBS["gloo"])
    cases = [{"number": number, "kind": kind, "chance": f"{asked.seed} {kind} {number}"}
             for number in range(1, asked.faults + 1) for kind in wanted(asked)]
    lanes = Lanes(asked.lanes, [asked.chokepoint],
                  lambda lab: Harmer(lab, asked.chokepoint, expected).play)
    return summed_up(lanes.play(cases, progress, until))


def summed_up(results):
    kinds = collections.defaultdict(list)
    for one in results:
        kinds[one["kind"]].append(one)
    return {"kinds": {kind: of_kind(kinds[kind]) for kind in KINDS if kind in kinds},
            "complaints": [f"{one['kind']} {one['number']}: {words}"
                           for one in results for words in one["complaints"]]}


def of_kind(results):
    after = [one["after_s"] for one in results if "after_s" in one]
    return {"plays": len(results), "met": sum(one.get("was_met", False) for one in results),
            "jobs_harmed": sum(one.get("harmed", True) for one in results),
            "with_a_complaint": sum(bool(one["complaints"]) for one in results),
            "most_s_after_the_job": max(after, default=None),
            "said": dict(collections.Counter(
                words[:120] for one in results for words in one.get("told", [])).most_common(5))}
