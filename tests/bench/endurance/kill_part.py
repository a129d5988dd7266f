"""Kills of chokepoint at random moments around a real Gloo job: what the job comes to must be the
same to the bit, and nothing that is older than a second may be missing from the record."""

import collections
import random
import statistics
import time

import plays
from lanes import Lanes
from plays import JOBS, NAMES, Stage
from watchers import (FRONT, HELPER, PROMISED_S, WATCH, Kept, kill, left_over, opens, processes_of,
                      role_of)

# Which processes a kill takes, and how often. One that is not there is drawn again by the play.
VICTIMS = {"front": (4, (FRONT,)), "watch": (4, (WATCH,)), "helper": (3, (HELPER,)),
           "front and watch": (2, (FRONT, WATCH)), "watch and helper": (1, (WATCH, HELPER)),
           "all but the relay": (2, (FRONT, WATCH, HELPER))}
# Of kills that leave the front alone: before the job has started, too. Nobody else can start it.
EARLY_SHARE = 0.2
EARLY_S = 0.4
# Past the job's end, so that closing the record is hit, too.
LATE_S = 0.3
MOST_TRIES = 5


def drawn(number, seed, torch_share, has_helper):
    chance = random.Random(f"{seed} kill {number}")
    known = {name: weight for name, (weight, roles) in VICTIMS.items()
             if has_helper or HELPER not in roles or name == "all but the relay"}
    victims = chance.choices([*known], [*known.values()])[0]
    return {"number": number, "victims": victims, "node": chance.choice(NAMES),
            "job": "torch" if chance.random() < torch_share else "gloo",
            "is_early": FRONT not in VICTIMS[victims][1] and chance.random() < EARLY_SHARE,
            "moment": chance.random()}


class Killer:
    def __init__(self, lab, program, expected):
        self.stage, self.program, self.expected = Stage(lab, program), program, expected

    def play(self, case):
        """Again where the kill came when nobody was there any more."""
        for tries in range(1, MOST_TRIES + 1):
            play = self.stage.play(JOBS[case["job"]], watched={name: {} for name in NAMES})
            try:
                struck = self.strike(play, case, tries)
                play.end()
                if struck["killed"]:
                    return {**case, **struck, **self.judged(play, case, struck)}
            finally:
                play.remove()
        return {**case, "killed": 0, "complaints": [f"nobody to kill in {tries} plays"]}

    def strike(self, play, case, tries):
        front = play.processes[case["node"]].pid
        moment = case["moment"]
        if tries > 1:
            moment = random.Random(f"{moment} {tries}").random()
        if case["is_early"] and tries == 1:
            play.until(lambda: role_of(front) == FRONT, "chokepoint")
            time.sleep(moment * EARLY_S)
        else:
            play.until(lambda: play.has_started(case["node"]), "start of the job")
            time.sleep(moment * (play.job.steps * play.job.step_ms / 1000 + LATE_S))
        there = processes_of(front)
        victims = [pid for role in VICTIMS[case["victims"]][1] for pid in there.get(role, [])]
        killed_ns, killed = kill(victims)
        return {"killed": killed, "killed_ns": killed_ns}

    def judged(self, play, case, struck):
        node = case["node"]
        other = next(name for name in NAMES if name != node)
        is_front = FRONT in VICTIMS[case["victims"]][1]
        found = [f"{name}: processes {rest} of chokepoint are left"
                 for name, host in self.stage.hosts.items() if (rest := left_over(host))]
        found += play.differs_from(self.expected[case["job"]], but=(node,) if is_front else ())
        kept = {name: Kept(play.out(name), name) for name in NAMES}
        found += self.whole(kept[other], other, play) + self.damage(kept[node], node, play, struck)
        if kept[node].begun_ns is not None:
            found += opens(self.program, play.out(node))
        return {"complaints": found, "missing_s": kept[node].missing_s(struck["killed_ns"]),
                "was_over": play.truth(node)[-1:] < [struck["killed_ns"]],
                "is_complete": kept[node].is_complete}

    def whole(self, kept, name, play):
        """Where nobody was killed."""
        if not kept.is_complete or not kept.is_sound:
            return [f"{name}: the record of the other node is not complete"]
        lost = kept.lost_steps(play.truth(name), play.ended_ns + 10 ** 10)
        return [f"{name}: steps {lost} are not in the record of the other node"] if lost else []

    def damage(self, kept, name, play, struck):
        found = []
        if kept.begun_ns is not None and not kept.is_sound:
            found.append(f"{name}: the record is damaged")
        if kept.is_complete:
            return found
        missing_s = kept.missing_s(struck["killed_ns"])
        if missing_s is not None and missing_s > PROMISED_S:
            found.append(f"{name}: the last {missing_s:.2f} s before the kill are missing")
        by_ns = struck["killed_ns"] - round(PROMISED_S * 1e9)
        if lost := kept.lost_steps(play.truth(name), by_ns):
            found.append(f"{name}: steps {lost} were older than a second and are missing")
        return found


def has_helper(stage):
    """Whether this chokepoint reads packets in a process of its own."""
    play = stage.play(plays.Sums(steps=20), watched={"left": {}})
    try:
        play.until(lambda: play.has_started("left"), "start of the job")
        time.sleep(0.3)
        return HELPER in processes_of(play.processes["left"].pid)
    finally:
        play.end()
        play.remove()


def measure(asked, lab, progress, until=None):
    stage = Stage(lab, asked.chokepoint)
    helper = has_helper(stage)
    cases = [drawn(number, asked.seed, asked.torch_share, helper)
             for number in range(1, asked.kills + 1)]
    expected = {name: plays.alone(stage, JOBS[name]) for name in {case["job"] for case in cases}}
    lanes = Lanes(asked.lanes, [asked.chokepoint],
                  lambda lab: Killer(lab, asked.chokepoint, expected).play)
    return summed_up(lanes.play(cases, progress, until), helper)


def summed_up(results, helper):
    missing = [one["missing_s"] for one in results if one.get("missing_s") is not None
               and not one["is_complete"]]
    return {"kills": sum(bool(one.get("killed")) for one in results),
            "processes_killed": sum(one.get("killed", 0) for one in results),
            "has_helper": helper,
            "by_victims": dict(collections.Counter(one["victims"] for one in results)),
            "by_job": dict(collections.Counter(one["job"] for one in results)),
            "before_the_job": sum(one["is_early"] for one in results),
            "after_the_job": sum(one.get("was_over", False) for one in results),
            "held_against_time": len(missing),
            "missing_ms": {"median": 1000 * statistics.median(missing),
                           "most": 1000 * max(missing)} if missing else None,
            "complaints": [f"kill {one['number']} ({one['victims']}, {one['job']}): {words}"
                           for one in results for words in one["complaints"]],
            "harmed": sum(bool(one["complaints"]) for one in results)}
