"""A scenario made of another: sections with some of their words changed, as plain documents."""

import copy
import random
import tomllib

SECONDS = 5
VARIES = 0.1  # either way
STRENGTHS = {"job": ("bytes", "compute_ms"), "there": ("rate_mbps", "delay_ms", "loss"),
             "back": ("rate_mbps", "delay_ms", "loss"), "fault": ("rate_mbps",),
             "options": ("late_ms",)}
WELL = {"class": "compute", "cause": None, "from": None, "to": None, "direction": None,
        "rank": None, "interface": None}


def of_file(path):
    return tomllib.loads(path.read_text())


def applied(document, changed):
    """A word that becomes None is taken away, and so is a section. What a step takes is not known
    beforehand; the twin will tell whether the fault shows."""
    made = copy.deepcopy(document)
    made["expected"] = {"is_whole": made["expected"].get("is_whole", True)}
    made["job"]["seconds"] = SECONDS
    for section, words in changed.items():
        if words is None:
            made.pop(section)
        else:
            made[section] = without_none({**made.get(section, {}), **words})
    return made


def without_none(words):
    return {name: value for name, value in words.items() if value is not None}


def varied(document, seed, name):
    """The same with all strengths a little different, so that no rule fits the list alone. What the
    healthy links are stays as it is: a twin may serve many."""
    if not seed:
        return document
    chance = random.Random(f"{seed}:{name}")
    fault = document.get("fault", {})
    parts = {"job": document["job"], "fault": fault, "options": fault.get("options", {}),
             **{way: fault[way] for way in ("there", "back") if way in fault}}
    for part, words in parts.items():
        for strength in STRENGTHS[part]:
            if words.get(strength):
                words[strength] = a_little_off(words[strength], chance)
    return document


def a_little_off(value, chance):
    off = value * chance.uniform(1 - VARIES, 1 + VARIES)
    return round(off) if isinstance(value, int) else round(off, 5)
