"""What verdicts of the corpus hang on: each constant multiplied by some factors, all plays judged."""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys

import judging
import verdicts
from rows import Refused

ALARM_COSTS = 3
LEAST_GAIN = 2  # plays: of fewer, chance has as many


def points(found):
    """Of one play: what is right of it."""
    return (found["class_right"] + (found["place_right"] is True) +
            (verdicts.within(found, 0.15) is True) - ALARM_COSTS * found["alarm"])


def answers(found):
    """What a user would see change, whether it is right or not."""
    told = found["told"]
    return told["class"], tuple(sorted(told["where"].items())), verdicts.within(found, 0.15)


def judged(program, case, play, settings):
    """A play by all constants as they are, and by each pair of a constant and its factor."""
    asked = "".join(f"{constant.key} {factor}\n" for constant, factor in settings)
    told = subprocess.run([program, case.records], input=asked, capture_output=True, text=True,
                          check=False)
    lines = told.stdout.splitlines()
    if told.returncode != 0 or len(lines) != 1 + len(settings):
        raise Refused(f"{play.name}: {judging.last_line(told.stderr) or told.returncode}")
    kept = {}  # most are the same
    for line in lines:
        if line not in kept:
            kept[line] = verdicts.of_play(judging.held(case, json.loads(line)), case, play,
                                          verdicts.WHOLE)
    return [kept[line] for line in lines]


def effects(program, cases, chosen, factors):
    """An Effect for each constant; `cases`: pairs of a recording and its play."""
    settings = [(constant, factor) for constant in chosen for factor in factors]
    by_play = []
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for found in pool.map(lambda pair: judged(program, *pair, settings), cases):
            by_play.append(found)
            print(f"\r{len(by_play)} of {len(cases)} plays ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    base, *by_setting = zip(*by_play)
    each = iter(by_setting)
    return [Effect(constant, {1: base, **{factor: next(each) for factor in factors}})
            for constant in chosen]


class Effect:
    """Of a constant: judgements by factor, 1 among them."""

    def __init__(self, constant, by_factor):
        self.constant = constant
        self.by_factor = by_factor
        self.base = by_factor[1]

    def changed(self, factor):
        """How many plays are answered in another way."""
        return sum(answers(one) != answers(was)
                   for one, was in zip(self.by_factor[factor], self.base))

    def gain(self, factor):
        return self.points_of(factor) - self.points_of(1)

    def points_of(self, factor, with_kind=lambda kind: True):
        return sum(points(one) for one in self.by_factor[factor] if with_kind(one["kind"]))

    def is_without_effect(self):
        return not any(self.changed(factor) for factor in self.by_factor)

    def gain_across_kinds(self):
        """Each kind is judged by the factor that is best for all others: what a choice is worth for
        plays that it was not made by. And the factor that was chosen most."""
        chosen, gained = collections.Counter(), 0
        for kind in {one["kind"] for one in self.base}:
            def others(each, kind=kind):
                return each != kind
            best = max(self.by_factor, key=lambda factor: (
                self.points_of(factor, others), factor == 1))
            chosen[best] += 1
            gained += sum(self.points_of(factor, lambda each, kind=kind: each == kind) * sign
                          for factor, sign in ((best, 1), (1, -1)))
        return gained, chosen.most_common(1)[0][0]
