"""Many judgements in a few figures. Shares are of counts that stand beside them."""

import statistics

from recordings import HALVES

CONFIDENCE_BINS = (0.3, 0.6, 0.7, 0.8, 0.9, 0.95, 1.01)
WANTED = {"class": 0.95, "place": 0.95, "alarms": 0.01, "lost": 0.15, "stable": 0.95}


def share(values):
    """Of those that could be right at all."""
    known = [value for value in values if value is not None]
    return {"right": sum(known), "of": len(known),
            "share": sum(known) / len(known) if known else None}


def of(judgements):
    faulty = [one for one in judgements if one["true"]["class"] != "compute"]
    healthy = [one for one in judgements if one["true"]["class"] == "compute"]
    lost = [one["lost"] for one in faulty if one["lost"]]
    return {"class": share([one["class_right"] for one in judgements]),
            "class_of_faulty": share([one["class_right"] for one in faulty]),
            "cause": share([one["cause_right"] for one in faulty]),
            "place": share([one["place_right"] for one in faulty]),
            "lost": share([one["right"] for one in lost]),
            "lost_off": spread([one["off"] for one in lost if one["right"] is not None]),
            "alarms": share([not one["class_right"] for one in healthy]),
            "stable": share([one["early"]["stable"] for one in judgements if one["early"]]),
            "live": share([one["live"]["fits"] for one in judgements if one["live"]]),
            "live_unknown": share([one["live"]["told"] == "unknown" for one in judgements
                                   if one["live"]]),
            "second": share([one.get("second_right") for one in judgements]),
            "calibration": calibration(judgements),
            "seconds": spread([one["seconds"] for one in judgements])}


def is_right(one):
    """Class and, where it has one, place."""
    return one["class_right"] and one["place_right"] is not False


def calibration(judgements):
    """Verdicts by their confidence: how often those were right, and by how much the two differ on
    average (the expected calibration error)."""
    told = [one for one in judgements if one["told"].get("confidence") is not None]
    rows, low = [], 0.0
    for high in CONFIDENCE_BINS:
        within = [one for one in told if low <= one["told"]["confidence"] < high]
        if within:
            rows.append({"from": low, "to": min(high, 1), "count": len(within),
                         "told": statistics.mean(one["told"]["confidence"] for one in within),
                         "right": statistics.mean(is_right(one) for one in within)})
        low = high
    error = (sum(row["count"] * abs(row["told"] - row["right"]) for row in rows) / len(told)
             if told else None)
    return {"bins": rows, "error": error}


def spread(values):
    known = sorted(abs(value) for value in values if value is not None)
    return {"median": statistics.median(known), "p90": known[int(0.9 * (len(known) - 1))],
            "max": known[-1], "count": len(known)} if known else None


def by_half(judgements):
    return {half: of([one for one in judgements if one["half"] == half]) for half in HALVES}


def confusion(judgements):
    """{true class: {told class: how many}}"""
    matrix = {}
    for one in judgements:
        row = matrix.setdefault(one["true"]["class"], {})
        row[one["told"]["class"]] = row.get(one["told"]["class"], 0) + 1
    return matrix


def misses(judgements):
    return [one for one in judgements if reasons(one)]


def reasons(one):
    """What is wrong with it, a word each."""
    early = one["early"]
    return [word for word, is_wrong in (
        ("class", not one["class_right"]), ("place", one["place_right"] is False),
        ("lost", bool(one["lost"]) and one["lost"]["right"] is False),
        ("early", bool(early) and not early["stable"]),
        ("live", bool(one["live"]) and not one["live"]["fits"])) if is_wrong]
