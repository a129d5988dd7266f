"""usage: prediction [--repetitions N] [--only GLOB] [--out DIR] [--report FILE.json] CHOKEPOINT
       prediction --predict-only DIR [--only GLOB] CHOKEPOINT

How near `chokepoint predict` comes: trains over links of several rates, round trips and numbers of
ranks, and predicts each setup from the record of each other one that differs in one of these.
--predict-only goes by what lies in DIR already. --only: setups of such names. Prints the errors and
the worst pairs; FILE.json has all of them, a file .md beside it the tables.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import random
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parents[2] / "lab"))

import kept  # noqa: E402
import predicting  # noqa: E402
import setups  # noqa: E402
from lab import Failed, Skipped  # noqa: E402

KINDS = ("rate", "delay", "ranks")
WORST = 15
HEAD = ["", "pairs", "predicted", "median error", "90 %", "within low … high",
        "median error if nothing changed"]
PAIR = ["from a run of", "of", "predicted", "measured ms", "told ms", "off"]


def arguments():
    parser = argparse.ArgumentParser(prog="prediction", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--only", default="*")
    parser.add_argument("--out", type=pathlib.Path, default="build/bench/prediction")
    parser.add_argument("--play-only", action="store_true", help="predict nothing")
    parser.add_argument("--predict-only", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--report", type=pathlib.Path, default="build/bench/prediction.json")
    parser.add_argument("chokepoint")
    asked = parser.parse_args()
    asked.chokepoint = os.path.abspath(asked.chokepoint)
    return asked


def play(asked):
    """In random order; what is there already is left as it is."""
    wanted = [one for one in setups.every() if fnmatch.fnmatch(one.name, asked.only)]
    for repetition in range(1, asked.repetitions + 1):
        for setup in random.Random(repetition).sample(wanted, len(wanted)):
            folder = asked.out / str(repetition) / setup.name
            if not (folder / predicting.TRUTH).exists():
                played(setup, folder, pathlib.Path(asked.chokepoint).parent)


def played(setup, folder, build):
    try:
        told = f"{kept.play(setup.scenario(), folder, build).usual_ms:.1f} ms a step"
    except (Failed, Skipped) as reason:
        told = str(reason).splitlines()[0]
    print(f"bench: {setup.name}: {told}", file=sys.stderr, flush=True)


def document_of(asked, out):
    pairs = [pair for pair in setups.pairs()
             if all(fnmatch.fnmatch(setup.name, asked.only) for setup in pair[1:])]
    judgements = [one for pair in pairs for one in predicting.judged(asked.chokepoint, out, *pair)]
    of_kind = {kind: [one for one in judgements if one["kind"] == kind] for kind in KINDS}
    return {"schema": "chokepoint.bench.prediction/1",
            "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": {"kernel": os.uname().release, "processors": os.cpu_count(),
                        "load": os.getloadavg()[0]},
            "figures": {"all": predicting.figures(judgements),
                        **{kind: predicting.figures(of_kind[kind]) for kind in KINDS}},
            "judgements": judgements}


def summary(document):
    return [HEAD, *([kind, str(found["pairs"]), str(found["predicted"]),
                     predicting.percent(found["median_off"]), predicting.percent(found["p90_off"]),
                     predicting.percent(found["within_range"]), predicting.percent(found["median_off_if_unchanged"])]
                    for kind, found in document["figures"].items())]


def rows(judgements):
    return [PAIR, *([one["known"], one["wanted"], one["kind"], f"{one['true_ms']:.1f}",
                     one["failure"] or f"{one['told_ms']:.1f}", predicting.percent(one["off"])]
                    for one in judgements)]


def main():
    asked = arguments()
    if not asked.predict_only:
        play(asked)
    if asked.play_only:
        return 0
    document = document_of(asked, asked.predict_only or asked.out)
    asked.report.write_text(json.dumps(document, indent=1) + "\n")
    worst = sorted(document["judgements"], key=predicting.badness, reverse=True)
    asked.report.with_suffix(".md").write_text(
        f"{predicting.table(summary(document))}\n\n{predicting.table(rows(worst))}\n")
    print(f"{predicting.table(summary(document))}\n\nThe worst:\n{predicting.table(rows(worst[:WORST]))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
