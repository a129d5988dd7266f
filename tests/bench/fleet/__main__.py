"""usage: fleet --seed N [--plays N] [--only GLOB] [--lanes N] [--out DIR] CHOKEPOINT
       fleet --judge-only --out DIR CHOKEPOINT

Since when, where and why: plays fleets of eight hosts (playing.py) that are measured round by round,
in each of which one thing changes at a moment that the seed draws (changes.py), and judges what
'chokepoint history' says (judging.py). A play is right if every change that is told encloses the
true moment or misses it by one measurement at most; if the host is named; if the setting that was
changed is the first that is named, or none is where none is known; and if nothing else is told.
Fleets in which nothing changes, or something harmless, have no finding. DIR gets a line of JSON for
each play in plays.json, the histories, and the table in fleet.md; --judge-only asks CHOKEPOINT about
the histories that are there. Nothing fails by what is measured.
"""

import argparse
import contextlib
import fnmatch
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(BENCH.parent / "lab"), str(BENCH / "endurance")]

import changes  # noqa: E402
import judging  # noqa: E402
from lab import Lab  # noqa: E402
from lanes import Lanes  # noqa: E402
from playing import Fleet  # noqa: E402

ROUNDS_BEFORE = (11, 13)
ROUNDS_AFTER = 7


def arguments():
    parser = argparse.ArgumentParser(prog="fleet", description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--judge-only", action="store_true")
    parser.add_argument("--plays", type=int, default=len(changes.KINDS))
    parser.add_argument("--only", default="*", help="kinds of such names, more than one with ','")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/bench/fleet"))
    parser.add_argument("chokepoint", type=pathlib.Path)
    asked = parser.parse_args()
    asked.kinds = [kind for kind in changes.KINDS
                   if any(fnmatch.fnmatch(kind, glob) for glob in asked.only.split(","))]
    return asked


def drawn(asked):
    """Every kind as often as any, in an order that is drawn."""
    draw = random.Random(asked.seed)
    kinds = []
    while len(kinds) < asked.plays:
        kinds += draw.sample(asked.kinds, len(asked.kinds))
    return [{"number": number, "kind": kind, "seed": asked.seed}
            for number, kind in enumerate(kinds[:asked.plays], 1)]


def rounds(fleet, change, draw):
    """The moment of the change, which comes between two measurements."""
    before = draw.randint(*ROUNDS_BEFORE)
    at = (before, draw.randrange(len(fleet.parts())))
    moment = None
    for number in range(before + ROUNDS_AFTER + 1):
        for place, part in enumerate(fleet.parts()):
            if (number, place) == at:
                change()
                moment = time.time()
            fleet.timed(part)
    return moment


def play(case, out, lab_programs):
    kind = changes.KINDS[case["kind"]]
    draw = random.Random(f"{case['seed']} {case['number']} {case['kind']}")
    began = time.monotonic()
    with Lab(lab_programs) as lab, contextlib.ExitStack() as closing:
        fleet = Fleet(lab, closing, draw, kind)
        truth, change = kind.make(fleet)
        moment = rounds(fleet, change, draw)
        shutil.copy(fleet.history, history_of(case, out))
        slack = max(each.ended - each.began for each in fleet.measured)
    return judged({**case, "truth": vars(truth), "moment": moment, "slack_s": slack,
                   "ranks": fleet.ranks, "measured": [vars(each) for each in fleet.measured],
                   "seconds": time.monotonic() - began}, out)


def history_of(case, out):
    return out / f"{case['number']}-{case['kind']}.db"


def judged(case, out):
    told = subprocess.run(["chokepoint", "history", "--json", "--history", history_of(case, out)],
                          capture_output=True, check=True)
    findings = json.loads(told.stdout)["findings"]
    return {**case, "findings": findings, "complaints": judging.complaints(
        findings, changes.Truth(**case["truth"]), changes.KINDS[case["kind"]].is_harmless,
        case["moment"], case["slack_s"])}


def say(row):
    truth = row.get("truth", {})
    print(f"{row['number']:3} {row['kind']:20} {'WRONG' if row['complaints'] else 'right'} "
          f"{row.get('seconds', 0):4.0f} s  {truth.get('host')} {truth.get('setting')} "
          f"{truth.get('text')}", flush=True)
    for line in row["complaints"]:
        print(f"      {line}", flush=True)
    for finding in row.get("findings", []):
        print(f"      {'-' if finding['worse'] else '+'} {finding['sentence']}", flush=True)


def table(rows):
    lines = ["| play | what changed | where | said first | right |", "|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: row["number"]):
        truth, said = row.get("truth", {}), [each["sentence"] for each in row.get("findings", [])]
        lines.append(f"| {row['number']} | {row['kind']}: {truth.get('text', '')} | "
                     f"{truth.get('host') or '–'} | {said[0] if said else '–'} | "
                     f"{'; '.join(row['complaints']) or 'yes'} |")
    right = sum(not row["complaints"] for row in rows)
    return "\n".join([*lines, "", f"{right} of {len(rows)} right."]) + "\n"


def main():
    asked = arguments()
    asked.out.mkdir(parents=True, exist_ok=True)
    os.environ["PATH"] = f"{asked.chokepoint.resolve().parent}:{os.environ['PATH']}"
    if asked.judge_only:
        rows = [json.loads(line) for line in (asked.out / "plays.json").read_text().splitlines()]
        rows = [judged(row, asked.out) if "moment" in row else row for row in rows]
        for row in rows:
            say(row)
    else:
        rows = play_all(asked)
    text = table(rows)
    (asked.out / "fleet.md").write_text(text)
    print(text)


def play_all(asked):
    programs = [asked.chokepoint.resolve().parent]

    def work(_):
        return lambda case: play(case, asked.out, programs)

    with open(asked.out / "plays.json", "w") as out:
        def progress(found):
            say(found[-1])
            out.write(json.dumps(found[-1]) + "\n")
            out.flush()

        return Lanes(asked.lanes, [asked.chokepoint.resolve()], work).play(drawn(asked), progress)


if __name__ == "__main__":
    main()
