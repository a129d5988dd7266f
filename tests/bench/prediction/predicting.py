"""A pair: what `chokepoint predict` makes of a run of the one setup, held against runs of the
other."""

import json
import math
import pathlib
import statistics
import subprocess

WARM_UP_STEPS = 2
PREDICT_SECONDS = 60
TRUTH = "truth.json"


def folders(out, setup):
    return sorted(file.parent for file in pathlib.Path(out).glob(f"*/{setup.name}/{TRUTH}"))


def mean_ms(folder):
    told = json.loads((folder / TRUTH).read_text())["steps_ms"][WARM_UP_STEPS:]
    return statistics.mean(told) if told else None


def measured(out, setup):
    """Over all repetitions; nothing where it was not played."""
    found = [mean for mean in map(mean_ms, folders(out, setup)) if mean]
    return statistics.mean(found) if found else None


def predicted(chokepoint, records, words):
    """The document, or a line that says why there is none."""
    try:
        told = subprocess.run([chokepoint, "predict", "--from", records, *words, "--json"],
                              capture_output=True, text=True, timeout=PREDICT_SECONDS, check=False)
        if told.returncode:
            return None, told.stderr.strip()[-200:] or f"exit status {told.returncode}"
        document = json.loads(told.stdout)
        return document, None if document["step_ms"] else "no step_ms"
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        return None, repr(error)[:200]


def judged(chokepoint, out, kind, known, wanted):
    """One for each run of the known setup."""
    true = measured(out, wanted)
    for folder in folders(out, known) if true else []:
        document, failure = predicted(chokepoint, folder / "records", wanted.words_from(known))
        told = document["step_ms"] if document and not failure else None
        yield {"kind": kind, "known": known.name, "wanted": wanted.name,
               "known_ms": mean_ms(folder), "true_ms": true, "told_ms": told,
               "low_ms": document and document.get("low_ms"),
               "high_ms": document and document.get("high_ms"),
               "off": (told - true) / true if told else None, "failure": failure}


def ninetieth(values):
    """The 90th percentile by nearest rank: nine of ten values are no larger."""
    return sorted(values)[math.ceil(0.9 * len(values)) - 1] if values else None


def figures(judgements):
    """Errors, beside those of who says that nothing will change."""
    offs = [abs(one["off"]) for one in judgements if one["off"] is not None]
    unchanged = [abs(one["known_ms"] / one["true_ms"] - 1) for one in judgements]
    within = [one["low_ms"] <= one["true_ms"] <= one["high_ms"] for one in judgements
              if one["low_ms"] is not None and one["high_ms"] is not None]
    return {"pairs": len(judgements), "predicted": len(offs),
            "median_off": statistics.median(offs) if offs else None,
            "p90_off": ninetieth(offs),
            "within_range": statistics.mean(within) if within else None,
            "median_off_if_unchanged": statistics.median(unchanged) if unchanged else None}


def percent(value):
    return "–" if value is None else f"{100 * value:.1f} %"


def badness(one):
    return abs(one["off"]) if one["off"] is not None else float("inf")


def table(lines):
    head, *rest = (f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *rest])
