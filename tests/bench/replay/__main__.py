"""usage: replay [--pairs N] [--seed S] [--only GLOB] [--change KIND] [--out DIR] [--report FILE.json]
              CHOKEPOINT
       replay --replay-only DIR [--pairs N] [--seed S] [--only GLOB] [--change KIND] CHOKEPOINT

How near a replayed run comes: plays a job, changes one thing (the link's rate, the round trip, a
rank's lateness, loss), plays it again, and asks `chokepoint predict --from` the first record for the
second. --replay-only goes by what lies in DIR already. --only: pairs of such names. --change: all pairs
differ by that: rate, delay, late, loss, bucket, or order, which is drawn only so. Prints the errors
and the worst pairs; FILE.json has all of them, a file .md beside it the tables.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import statistics
import sys
import time

for beside in ("../../lab", "../attribution", "../prediction"):
    sys.path.append(str((pathlib.Path(__file__).parent / beside).resolve()))

import kept  # noqa: E402
import pairs  # noqa: E402
import predicting  # noqa: E402
from lab import Failed, Skipped  # noqa: E402

WORST = 15
SIGN_FROM = 0.03  # of the step: a smaller effect has no sign that one play shows
HEAD = ["", "pairs", "replayed", "median error", "90 %", "sign right", "models alone, median",
        "if nothing changed, median"]
PAIR = ["pair", "job", "asked", "before ms", "measured ms", "replayed ms", "off", "models off"]


def arguments():
    parser = argparse.ArgumentParser(prog="replay", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--pairs", type=int, default=150)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", default="*")
    parser.add_argument("--change", choices=sorted(pairs.ALL))
    parser.add_argument("--out", type=pathlib.Path, default="build/bench/replay")
    parser.add_argument("--replay-only", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--report", type=pathlib.Path, default="build/bench/replay.json")
    parser.add_argument("chokepoint")
    asked = parser.parse_args()
    asked.chokepoint = os.path.abspath(asked.chokepoint)
    return asked


def folder_of(out, pair, which):
    return pathlib.Path(out) / pair.name / which


def play(asked, wanted):
    """What is there already is left as it is."""
    for pair in wanted:
        told = [played(one, folder_of(asked.out, pair, which), asked.chokepoint)
                for which, one in (("before", pair.before), ("after", pair.after))]
        print(f"bench: {pair.name}, {pair.job}: {', then '.join(told)}", file=sys.stderr, flush=True)


def played(one, folder, chokepoint):
    if (folder / predicting.TRUTH).exists():
        return "is there"
    try:
        return f"{kept.play(one, folder, pathlib.Path(chokepoint).parent).usual_ms:.1f} ms a step"
    except (Failed, Skipped) as reason:
        return str(reason).splitlines()[0]


def judged(chokepoint, out, pair):
    """Nothing where one of the two was not played."""
    before, after = (folder_of(out, pair, which) for which in ("before", "after"))
    if not all((folder / predicting.TRUTH).exists() for folder in (before, after)):
        return None
    known_ms, true_ms = predicting.mean_ms(before), predicting.mean_ms(after)
    if not known_ms or not true_ms:
        return None
    document, failure = predicting.predicted(chokepoint, before / "records", pair.words)
    told = document["step_ms"] if document and not failure else None
    models = document["models_step_ms"] if told else None
    effect, true_effect = (told or known_ms) - known_ms, true_ms - known_ms
    has_sign = abs(true_effect) >= SIGN_FROM * known_ms
    return {"pair": pair.name, "change": pair.change, "job": pair.job, "words": pair.words,
            "known_ms": known_ms, "true_ms": true_ms, "told_ms": told, "models_ms": models,
            "method": document and document.get("method"), "failure": failure,
            "low_ms": document and document.get("low_ms"),
            "high_ms": document and document.get("high_ms"),
            "off": told and told / true_ms - 1, "models_off": models and models / true_ms - 1,
            "sign_right": effect * true_effect > 0 if has_sign and told else None}


def middle(values):
    return statistics.median(values) if values else None


def figures(judgements):
    told = [one for one in judgements if one["off"] is not None]
    offs = [abs(one["off"]) for one in told]
    signs = [one["sign_right"] for one in told if one["sign_right"] is not None]
    return {"pairs": len(judgements),
            "replayed": sum(one["method"] == "replay" for one in judgements),
            "median_off": middle(offs), "p90_off": predicting.ninetieth(offs),
            "signs": len(signs), "signs_right": sum(signs),
            "models_median_off": middle([abs(one["models_off"]) for one in told]),
            "median_off_if_unchanged": middle([abs(one["known_ms"] / one["true_ms"] - 1)
                                               for one in judgements])}


def document_of(asked, out, wanted):
    judgements = [one for one in (judged(asked.chokepoint, out, pair) for pair in wanted) if one]
    groups = {"all": judgements}
    for what in ("change", "job"):
        for one in sorted(judgements, key=lambda one, what=what: one[what]):
            groups.setdefault(f"{what}: {one[what]}", []).append(one)
    return {"schema": "chokepoint.bench.replay/1", "seed": asked.seed,
            "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": {"kernel": os.uname().release, "processors": os.cpu_count(),
                        "load": os.getloadavg()[0]},
            "figures": {name: figures(group) for name, group in groups.items()},
            "judgements": judgements}


def number(value):
    return "–" if value is None else f"{value:.1f}"


def summary(document):
    return [HEAD, *([name, str(found["pairs"]), str(found["replayed"]),
                     predicting.percent(found["median_off"]), predicting.percent(found["p90_off"]),
                     f"{found['signs_right']} of {found['signs']}",
                     predicting.percent(found["models_median_off"]), predicting.percent(found["median_off_if_unchanged"])]
                    for name, found in document["figures"].items())]


def rows(judgements):
    return [PAIR, *([one["pair"], one["job"], one["failure"] or " ".join(one["words"]),
                     number(one["known_ms"]), number(one["true_ms"]), number(one["told_ms"]),
                     predicting.percent(one["off"]), predicting.percent(one["models_off"])] for one in judgements)]


def main():
    asked = arguments()
    wanted = [pair for pair in pairs.pairs(asked.seed, asked.pairs, asked.change)
              if fnmatch.fnmatch(pair.name, asked.only)]
    if not asked.replay_only:
        play(asked, wanted)
    document = document_of(asked, asked.replay_only or asked.out, wanted)
    asked.report.write_text(json.dumps(document, indent=1) + "\n")
    worst = sorted(document["judgements"], key=predicting.badness, reverse=True)
    asked.report.with_suffix(".md").write_text(
        f"{predicting.table(summary(document))}\n\n{predicting.table(rows(worst))}\n")
    print(f"{predicting.table(summary(document))}\n\nThe worst:\n{predicting.table(rows(worst[:WORST]))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
