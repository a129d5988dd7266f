"""Plays scenarios into a folder: REPETITION/NAME for each, and twins/… once for each healthy setup
that several faults begin from. What is there already is not played again, so a sweep that was
interrupted goes on.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import random
import sqlite3
import time

import kept
import played_checks
import recordings
from judging import EARLY
from lab import Failed, Skipped
from training import Player

EARLY_STEPS = 12  # ten, and the two of the warm-up
TWIN_TRIES = 3
TRUTH = "truth.json"


class EarlyToo(Player):
    """Keeps the records as they were after a few steps, as a look at a run going on has them."""

    def look(self, steps):
        early = self.folder / EARLY
        if self.is_watched and steps >= EARLY_STEPS and not early.exists():
            early.mkdir()
            for file in self.records.glob("*.db"):
                copied(file, early / file.name)


def copied(live, file):
    with contextlib.closing(sqlite3.connect(f"file:{live}?mode=ro", uri=True)) as source, \
            contextlib.closing(sqlite3.connect(file)) as copy:
        source.backup(copy)


def dealt(named, seed):
    """In random order, but of all kinds first: a round has one of each base."""
    chance = random.Random(seed)
    bases = {}
    for base, one in chance.sample(named, len(named)):
        bases.setdefault(base, []).append(one)
    rounds = [(place, one) for ones in bases.values() for place, one in enumerate(ones)]
    return [one for _, one in sorted(chance.sample(rounds, len(rounds)), key=lambda pair: pair[0])]


def setup_of(one):
    """The same for all scenarios whose healthy twins are the same."""
    healthy = dataclasses.asdict(one.without_fault())
    for word in ("name", "about", "ci"):
        healthy.pop(word)
    return hashlib.sha256(json.dumps(healthy, sort_keys=True).encode()).hexdigest()[:12]


class Sweep:
    def __init__(self, build, out, say):
        self.build, self.out, self.say = build, out, say
        self.failed = {}

    def play(self, ones, repetition):
        for number, one in enumerate(ones, 1):
            began = time.monotonic()
            try:
                told = self.both(one, self.out / str(repetition) / one.name)
            except (Failed, Skipped, OSError) as reason:
                told = self.failed[one.name] = str(reason).splitlines()[0][:200]
            self.say(f"{number} of {len(ones)}, {one.name}: {told} "
                     f"({time.monotonic() - began:.0f} s)")

    def both(self, one, folder):
        """The twin first, as its folder is named beside the truth."""
        more, told = self.more(one), []
        if one.fault:
            twin = self.out / "twins" / setup_of(one)
            more |= {"twin": os.path.relpath(twin, folder)}
            if not (twin / TRUTH).exists():
                told = [f"{self.healthy_ms(one, twin):.1f} ms without the fault"]
        if not (folder / TRUTH).exists():
            result = kept.play(one, folder, self.build, player=self.player_of(one), more=more)
            played_checks.as_expected(one, result)
            told = [f"{result.usual_ms:.1f} ms a step", *told]
        return ", ".join(told) or "is there"

    def player_of(self, one):
        return EarlyToo

    def more(self, one):
        """Other words for the truth."""
        return {}

    def healthy_ms(self, one, folder):
        """Once more where something else had the machine meanwhile: many are held against it."""
        for _ in range(TWIN_TRIES):
            found = kept.play(one.without_fault(), folder, self.build, player=EarlyToo)
            if recordings.read(folder).is_calm():
                break
        return found.usual_ms
