"""A recording given to `chokepoint diagnose`, and its answer held against the truth."""

import json
import subprocess
import time

import lacking

DIAGNOSE_SECONDS = 60
NO_ANSWER = "no-answer"
WITHIN = 0.15  # of the truth's lost milliseconds a step
SECOND_SHARE = 0.1  # of a step
ENDS = ("from", "to")
EARLY = "early"  # records as they were when a few steps had been made


def answer(chokepoint, *records):
    """The document of `chokepoint diagnose`, and how long it took; or a line that says why not. A
    run, or captures of one."""
    began = time.monotonic()
    try:
        told = subprocess.run([chokepoint, "diagnose", *records, "--json"], capture_output=True,
                              text=True, timeout=DIAGNOSE_SECONDS, check=False)
        if told.returncode not in (0, 3):
            return None, last_line(told.stderr) or f"exit status {told.returncode}", 0
        document = json.loads(told.stdout)
        document["verdict"]["class"]  # or it is no diagnosis
        return document, None, time.monotonic() - began
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        return None, f"no diagnosis: {error!r}"[:200], 0


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def place_is_right(truth, where):
    """Whatever the truth names must be named. Where both directions are meant, either order of the
    ends will do; where a node is, it may be either end."""
    for name in ("direction", "interface", "rank"):
        if name in truth and where.get(name) != truth[name]:
            return False
    if "node" in truth and truth["node"] not in [where.get(end) for end in (*ENDS, "node")]:
        return False
    wanted = [truth.get(end) for end in ENDS]
    if not any(wanted):
        return True
    told = [where.get(end) for end in ENDS]
    return told == wanted or (truth.get("direction") == "both" and told == wanted[::-1])


def named(truth):
    """The places that the truth names."""
    return {name: truth[name] for name in (*ENDS, "direction", "interface", "rank", "node")
            if name in truth}


def off(told, true):
    """By what share of the truth."""
    return None if told is None or not true else (told - true) / true


def between(verdict):
    """The lost time's interval, where one is told."""
    ends = [verdict.get("lost_low_ms"), verdict.get("lost_high_ms")]
    return None if None in ends else ends


def judged(chokepoint, case):
    """A plain document: what was true, what was told, and what is right about it."""
    found = held(case, *answer(chokepoint, case.records))
    return {**found, **early(chokepoint, case, found["told"]["class"])}


def held(case, document, failure=None, seconds=0):
    """The same of an answer that is there, but for what the first steps are told as."""
    verdict = document["verdict"] if document else {"class": NO_ANSWER}
    truth, where = case.truth, verdict.get("where") or {}
    right = verdict["class"] == truth["class"]
    found = {
        "name": case.name, "folder": str(case.folder), "half": case.half,
        "true": {"class": truth["class"], "cause": truth.get("cause"), **named(truth)},
        "told": {"class": verdict["class"], "cause": verdict.get("cause"),
                 "where": {name: value for name, value in where.items() if value is not None},
                 "lost_ms": verdict.get("lost_ms_per_step"),
                 "lost_between": between(verdict),
                 "share_percent": verdict.get("share_percent"),
                 "confidence": verdict.get("confidence")},
        "class_right": right,
        "cause_right": verdict.get("cause") == truth["cause"] if right and truth.get("cause")
                       else None,
        "place_right": place_is_right(truth, where) if right and named(truth) else None,
        "second_right": second_is_named(case, document),
        "others": [other.get("class") for other in (document or {}).get("others", [])],
        "confirmation": confirmation(document), "seconds": seconds, "failure": failure}
    return {**found, **steps(case, document), **lost(case, found)}


def confirmation(document):
    """What tests said, where any were run."""
    told = (document or {}).get("confirmation")
    return told and {name: told[name] for name in ("state", "sentence", "leads_to",
                                                   "confidence_before")}


def second_is_named(case, document):
    """The lesser of two faults, where it takes much of a step: among the runners-up, or it is what
    was told first."""
    second = case.truth.get("second")
    if not second or not document or second["ms"] < SECOND_SHARE * case.mean_ms:
        return None
    told = [document["verdict"], *(document.get("others") or [])]
    return any(one["class"] == second["class"] and
               one["where"].get("rank") == second["rank"] for one in told)


def steps(case, document):
    told = (document or {}).get("steps") or {}
    return {"step_ms": {"true": case.mean_ms, "true_median": case.median_ms,
                        "twin": case.twin.mean_ms if case.twin else None,
                        "told": told.get("mean_ms"), "told_median": told.get("median_ms")}}


def lost(case, found):
    """Against the twin; of what there is no twin, or ends early, nothing."""
    if case.is_healthy or not case.twin or not case.is_whole:
        return {"lost": None}
    told, mean, median = (found["told"]["lost_ms"], case.lost_ms("mean_ms"),
                          case.lost_ms("median_ms"))
    error = off(told, mean)
    return {"lost": {"true": mean, "true_median": median, "told": told, "off": error,
                     "off_median": off(told, median),
                     "right": error is not None and abs(error) <= WITHIN
                     if found["class_right"] else None}}


def early(chokepoint, case, told_of_all):
    """Whether it was told so already after ten steps; and of the records that were copied when the
    job had done as many, which lag behind it, whether then nothing else was told."""
    if case.begins_late or case.lacking:
        return {"early": None, "live": None}
    with lacking.few_steps(case) as few:
        told = class_told(chokepoint, few.records)
    live = case.folder / EARLY
    then = class_told(chokepoint, live) if live.is_dir() else None
    return {"early": {"told": told, "stable": told == told_of_all},
            "live": then and {"told": then, "fits": then in (told_of_all, "unknown")}}


def class_told(chokepoint, records):
    document, _, _ = answer(chokepoint, records)
    return document["verdict"]["class"] if document else NO_ANSWER
