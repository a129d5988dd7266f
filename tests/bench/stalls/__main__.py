"""usage: stalls [--stalls N] [--healthy N] --seed S [--at-once N] [--only GLOB] [--out DIR] CHOKEPOINT

How often a job that stands still is told as that, with its cause and place, while it does: plays
jobs drawn from a seed (draw.py) on hosts of the lab and asks `chokepoint diagnose` 15 s after the
limit has passed, of an endless loop again after six limits. And how often a healthy job that pauses for an evaluation, a checkpoint or a
compiler is told to stand: by the watch at any time, or by `diagnose` while it pauses. Writes
DIR/report.json. Nothing fails by what is measured.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import fnmatch
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parents[2] / "lab"))

import draw  # noqa: E402
import kept  # noqa: E402
import scenario  # noqa: E402
from kernel import Failed, Skipped  # noqa: E402
import training  # noqa: E402

ASKED_AFTER_S = draw.LIMIT_S + draw.ANSWER_S
ASKED_LATE_S = draw.LIMITS_OF_PATIENCE * draw.LIMIT_S + draw.ANSWER_S
EVERY_S = 4
QUIET_S = 3
RUN_SECONDS = 200


class Asking(training.Player):
    """Asks for a diagnosis of the run while it goes on."""

    chokepoint = None

    def __init__(self, *words):
        super().__init__(*words)
        self.began = self.asked = None
        self.steps, self.stepped = 0, time.monotonic()
        self.told = []

    def look(self, steps):
        """A program stands from the step on that it was told, somewhat after the fault's time."""
        now = time.monotonic()
        if steps != self.steps:
            self.steps, self.stepped = steps, now
        if self.fault.was_on and self.began is None and now - self.stepped >= QUIET_S:
            self.began = self.stepped
        if self.scenario.fault:
            due_s = ASKED_LATE_S if self.told else ASKED_AFTER_S
            if self.began and now - self.began >= due_s and len(self.told) < 2:
                self.told.append(verdict_of(self.chokepoint, self.records))
        elif self.asked is None or now - self.asked >= EVERY_S:
            self.asked = now
            self.told.append(verdict_of(self.chokepoint, self.records))

    def play(self):
        played = super().play()
        (self.folder / "told.json").write_text(json.dumps(self.told, indent=1))
        return played


def verdict_of(chokepoint, records):
    told = subprocess.run([chokepoint, "diagnose", records, "--json"], capture_output=True,
                          text=True, check=False)
    if told.returncode != 0:
        return {"class": "none", "why": told.stderr[-300:]}
    document = json.loads(told.stdout)
    verdict = document["verdict"]
    return {**{word: verdict[word] for word in ("class", "cause", "sentence", "where")},
            "pause": document.get("pause")}


def alarms(records):
    """Of the watches themselves."""
    found = 0
    for file in records.glob("*.db"):
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as record:
            found += sum('"state":"stands"' in detail for detail, in record.execute(
                "SELECT detail FROM event WHERE kind = 'stall'"))
    return found


def is_place_right(truth, where):
    """Of a path, that the host is at either end; of a rank, its number. Of two ranks in different
    collectives either is the other one."""
    if truth["cause"] == "mismatch" and truth["ranks"] == 2:
        return where["rank"] is not None
    if "rank" in truth:
        return where["rank"] == truth["rank"]
    return truth["node"] in (where["node"], where["from"], where["to"])


def played(name, document, out, chokepoint):
    Asking.chokepoint, training.RUN_SECONDS = chokepoint, RUN_SECONDS
    folder, one = out / name, scenario.made(name, document)
    try:
        if not (folder / "told.json").exists():
            kept.play(one, folder, pathlib.Path(chokepoint).parent, player=Asking)
    except (Failed, Skipped, OSError) as reason:
        return name, {"failed": str(reason)[:300]}
    told = json.loads((folder / "told.json").read_text())
    last = verdict_of(chokepoint, folder / "records")
    return name, judged(one.truth, told, last, alarms(folder / "records"))


def judged(truth, told, last, alarm_count):
    if truth["class"] != "stalled":
        wrong = [each for each in [*told, last] if each["class"] == "stalled"]
        return {"healthy": True, "alarms": alarm_count, "wrong": wrong}
    live = told[0] if told else {"class": "none"}
    is_named = live["class"] == "stalled" and is_place_right(truth, live["where"])
    late = told[-1] if told else live
    works = f"rank {truth.get('rank')} on {truth.get('node')} works"
    is_in_pause = works in (live.get("pause") or "")
    return {"truth": truth, "live": live, "late": late, "last": last,
            "stalled": live["class"] == "stalled", "place": is_named,
            "place_or_pause": is_named or is_in_pause,
            "cause": is_named and live["cause"] == truth["cause"],
            "late_cause": late["class"] == "stalled" and late["cause"] == truth["cause"]}


def summed(results):
    stalls = [each for each in results.values() if "truth" in each]
    healthy = [each for each in results.values() if "healthy" in each]
    kinds = collections.Counter(each["truth"]["cause"] for each in stalls)
    lines = [f"{what}: {sum(each[what] for each in stalls)} of {len(stalls)}"
             for what in ("stalled", "place", "place_or_pause", "cause", "late_cause")]
    lines += [f"  {kind}: {sum(e['cause'] for e in stalls if e['truth']['cause'] == kind)} of {n}"
              for kind, n in sorted(kinds.items())]
    lines.append(f"false alarms: {sum(bool(each['alarms'] or each['wrong']) for each in healthy)} "
                 f"of {len(healthy)} healthy jobs")
    lines.append(f"not played: {sum('failed' in each for each in results.values())}")
    return lines


def arguments():
    parser = argparse.ArgumentParser(prog="stalls", usage=argparse.SUPPRESS, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stalls", type=int, default=27)
    parser.add_argument("--healthy", type=int, default=9)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--only", default="*")
    parser.add_argument("--out", type=pathlib.Path, default="build/bench/stalls")
    parser.add_argument("chokepoint", type=os.path.abspath)
    return parser.parse_args()


def main():
    asked = arguments()
    asked.out.mkdir(parents=True, exist_ok=True)
    plays = [each for each in [*draw.stalls(asked.seed, asked.stalls),
                               *draw.pauses(asked.seed, asked.healthy)]
             if fnmatch.fnmatch(each[0], asked.only)]
    results = {}
    with concurrent.futures.ProcessPoolExecutor(asked.at_once) as pool:
        begun = [pool.submit(played, name, document, asked.out, asked.chokepoint)
                 for name, document in plays]
        for done in concurrent.futures.as_completed(begun):
            name, result = done.result()
            results[name] = result
            print(f"{len(results)} of {len(plays)}, {name}: {json.dumps(result)}", flush=True)
    (asked.out / "report.json").write_text(json.dumps(results, indent=1))
    print("\n".join(summed(results)))


if __name__ == "__main__":
    main()
