"""usage: attribution [--repetitions N] [--only GLOB] [--limit N] [--seed N] [--out DIR] CHOKEPOINT
       attribution --draw N --seed S [--of KIND[,KIND…]] [--modern SHARE] [--out DIR] CHOKEPOINT
       attribution --diagnose-only DIR [--only GLOB] [--without WHAT] CHOKEPOINT
       attribution --list CHOKEPOINT

How often `chokepoint diagnose` is right: plays real training under known faults of many strengths,
in random order, each healthy setup once, and holds the verdicts against the truth. Scenarios are
divided by their names into the half on which thresholds are chosen and the half that is reported.
--diagnose-only judges what lies in DIR already, also what tests/lab/lab scenario --twin left there.
--without judges records from which something was taken: the library's collectives, all packets,
all of sockets, the host's counters, or every node but the first. Another --seed is another order,
and, but for 0, somewhat other strengths. --draw plays N jobs, wires and faults that a seed draws from
ranges instead (draw.py), once each; --of only these kinds, by the names of draw.KINDS. --modern is the
share of the jobs of PyTorch that play on the one of today, in the chroot of ./scripts/setup modern;
without the chroot these are skipped. --report FILE.json gets everything, and the tables a file .md
beside it. Nothing fails by what is measured.
"""

import argparse
import fnmatch
import functools
import json
import os
import pathlib
import random
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parents[2] / "lab"))

import draw  # noqa: E402
import figures  # noqa: E402
import judging  # noqa: E402
import lacking  # noqa: E402
import playing  # noqa: E402
import recordings  # noqa: E402
import report  # noqa: E402
import strengths  # noqa: E402


def kinds(text):
    unknown = set(text.split(",")) - set(draw.NAMES)
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(draw.NAMES)}")
    return text.split(",")


def arguments():
    parser = argparse.ArgumentParser(prog="attribution", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--only", default="*", help="scenarios of such names")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--limit", type=int, help="so many scenarios, of all kinds first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draw", type=int, metavar="N")
    parser.add_argument("--of", type=kinds, default=draw.NAMES, metavar="KIND[,KIND…]",
                        help="draw these alone")
    parser.add_argument("--modern", type=float, default=draw.MODERN, metavar="SHARE",
                        help="of the jobs of PyTorch, on the one of today")
    parser.add_argument("--out", type=pathlib.Path, default="build/bench/attribution")
    parser.add_argument("--play-only", action="store_true", help="judge nothing")
    parser.add_argument("--diagnose-only", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--without", choices=lacking.CHOICES)
    parser.add_argument("--list", action="store_true", help="the scenarios, and no more")
    parser.add_argument("--report", type=pathlib.Path, default="build/bench/attribution.json")
    parser.add_argument("chokepoint")
    asked = parser.parse_args()
    asked.chokepoint = os.path.abspath(asked.chokepoint)
    return asked


def judged(asked, case):
    with lacking.case_without(case, asked.without) as given:
        return judging.judged(asked.chokepoint, given)


def document_of(asked, cases, twins):
    judgements, left_out = [], []
    for case in cases:
        why = case.why_no_scenario()
        if why:
            left_out.append({"name": case.name, "folder": str(case.folder), "why": why})
        else:
            judgements.append(judged(asked, case))
    well = [judged(asked, twin) for twin in twins if twin.is_sure_to_be_well()]
    return {"schema": "chokepoint.bench.attribution/1",
            "without": asked.without,
            "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": {"kernel": os.uname().release, "processors": os.cpu_count(),
                        "load": os.getloadavg()[0]},
            "cases": len(judgements), "scenarios": len({one["name"] for one in judgements}),
            "figures": figures.of(judgements), "halves": figures.by_half(judgements),
            "confusion": figures.confusion(judgements),
            "twins": figures.of(well) if well else None,
            "misses": figures.misses(judgements + well), "left_out": left_out,
            "judgements": judgements, "twin_judgements": well}


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def chosen(asked):
    named = (draw.plays(asked.seed, asked.draw, functools.partial(draw.play, of=asked.of,
                                                               modern=asked.modern))
             if asked.draw else strengths.every(asked.seed))
    return [(base, one) for base, one in named
            if fnmatch.fnmatch(one.name, asked.only)]


def list_all(named):
    for base, one in named:
        print(f"{one.name:28} {one.truth['class']:14} of {base}")


def play(asked):
    """What could not be played: {name: why}"""
    sweep = playing.Sweep(pathlib.Path(asked.chokepoint).parent, asked.out, say)
    wanted = playing.dealt(chosen(asked), asked.seed)[:asked.limit]
    for repetition in range(1, (1 if asked.draw else asked.repetitions) + 1):
        sweep.play(wanted, repetition)
        wanted = random.Random(repetition).sample(wanted, len(wanted))
    return sweep.failed


def judge(asked, folder, failed):
    cases, twins = recordings.below(folder)
    cases = [case for case in cases if fnmatch.fnmatch(case.name, asked.only)]
    document = document_of(asked, cases, twins if asked.only == "*" else [])
    document["left_out"] += [{"name": name, "folder": None, "why": why}
                             for name, why in failed.items()]
    asked.report.write_text(json.dumps(document, indent=1) + "\n")
    asked.report.with_suffix(".md").write_text(report.markdown(document))
    print(report.text(document))


def main():
    asked = arguments()
    if asked.list:
        list_all(chosen(asked))
        return 0
    failed = {} if asked.diagnose_only else play(asked)
    if not asked.play_only:
        judge(asked, asked.diagnose_only or asked.out, failed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
