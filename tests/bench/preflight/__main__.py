"""usage: preflight [--only GLOB] [--runs N] [--hosts 4,8] [--seed N] [--effort quick] [--out FILE]
                 CHOKEPOINT

How often `chokepoint preflight` is right: plays clusters that are well and clusters with one
planted fault (tests/lab/planted.py), N of each kind and size, each with a victim and a strength of
its own, half of them with the cables' rates in the limits, half without, asked from a host of the
cluster or from one beside it. A run is right if the fault is found by name, nobody else is accused,
what the others reach was measured, and it took no longer than was announced. FILE gets a line of
JSON for each run, and the table stands beside it as FILE.md. Nothing fails by what is measured.
"""

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import random
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).parents[2] / "lab"))

import planted  # noqa: E402
import preflights  # noqa: E402
from cluster import Cluster  # noqa: E402
from kernel import Failed, Skipped  # noqa: E402
from lab import Lab  # noqa: E402



def arguments():
    parser = argparse.ArgumentParser(prog="preflight", description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="kinds of such names, more than one with ','")
    parser.add_argument("--runs", type=int, default=3, help="of each kind and number of hosts")
    parser.add_argument("--hosts", default="4,8")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effort", default="quick", choices=("quick", "default", "thorough"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("preflight-lab.json"))
    parser.add_argument("chokepoint", type=pathlib.Path)
    asked = parser.parse_args()
    asked.kinds = [kind for kind in planted.KINDS
                   if any(fnmatch.fnmatch(kind, glob) for glob in asked.only.split(","))]
    return asked


def asked_words(effort):
    return () if effort == "default" else (f"--{effort}",)


def run_in(cluster, kind, draw, effort):
    """(what was told, the truth); a fault of the midst comes somewhere in the first half."""
    asker = draw.random.choice([cluster.head, cluster.hosts[0]])
    draw.asker = asker.name
    how = {"on": asker, "knows_rates": draw.random.random() < 0.5}
    if not kind.is_midway:
        truth = kind.plant(draw)
        return preflights.run(cluster, *asked_words(effort), **how), truth
    truths = []
    told = preflights.run(cluster, *asked_words(effort), after=draw.between(1.5, 6),
                          midway=lambda: truths.append(kind.plant(draw)), **how)
    return told, truths[0]


def play(asked, name, hosts, number):
    """What one run was, as the line it is kept as."""
    kind = planted.KINDS[name]
    row = {"kind": name, "hosts": hosts, "number": number}
    with Lab([asked.folder]) as lab:
        cluster = Cluster(lab, hosts, **kind.topology).serve()
        drawn = random.Random(f"{asked.seed} {name} {hosts} {number}")
        with planted.Draw(cluster, drawn) as draw:
            told, truth = run_in(cluster, kind, draw, asked.effort)
        wrong = list(preflights.complaints(told, truth, cluster))
    return row | {"strength": truth.strength, "of": truth.hosts, "seconds": round(told.seconds, 1),
                  "at_most": told.most_seconds(), "is_late": told.is_late(), "wrong": wrong,
                  "said": told.text().splitlines()[1:], "document": told.document,
                  "progress": told.progress}


def say(row):
    verdict = "right" if not row["wrong"] else "WRONG"
    print(f"{row['kind']:22} {row['hosts']:3} {row['number']:3} {verdict} {row['seconds']:6.1f} s, "
          f"{row['strength']} {','.join(row['of']) if len(row['of']) < 3 else ''}", flush=True)
    for line in row["wrong"] + (row["said"] if row["wrong"] else []):
        print(f"      {line}", flush=True)


def table(rows):
    """A line for each kind and number of hosts."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["kind"], row["hosts"]].append(row)
    lines = ["| kind | hosts | runs | right | late | seconds, median and longest |",
             "|---|---|---|---|---|---|"]
    for (kind, hosts), of_kind in groups.items():
        seconds = [row["seconds"] for row in of_kind]
        lines.append(f"| {kind} | {hosts} | {len(of_kind)} | "
                     f"{sum(not row['wrong'] for row in of_kind)} | "
                     f"{sum(row['is_late'] for row in of_kind)} | "
                     f"{statistics.median(seconds):.1f}, {max(seconds):.1f} |")
    return "\n".join(lines) + "\n"


def all_runs(asked):
    for number in range(1, asked.runs + 1):
        for name in asked.kinds:
            for hosts in map(int, asked.hosts.split(",")):
                yield name, hosts, number


def main():
    asked = arguments()
    asked.folder = asked.chokepoint.resolve().parent
    os.environ.setdefault("CHOKEPOINT_OTHER_VERSION",
                          str(asked.folder / "tests/lab/chokepoint_other"))
    rows = []
    with open(asked.out, "w") as out:
        for name, hosts, number in all_runs(asked):
            try:
                row = play(asked, name, hosts, number)
            except (Failed, Skipped) as reason:
                print(f"{name:22} {hosts:3} {number:3} {reason}", flush=True)
                continue
            rows.append(row)
            say(row)
            out.write(json.dumps(row) + "\n")
    text = table(rows)
    asked.out.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
