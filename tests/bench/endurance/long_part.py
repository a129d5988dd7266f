"""Hours of watching: how large the record gets, and whether chokepoint's processes stay as they
are.

Made-up hours are `scripts/bench record-growth`: what `run` writes at most, without waiting. Real
minutes are one watched Gloo job, looked at all the time.
"""

import json
import pathlib
import statistics
import subprocess
import time

from lanes import say
from lab import Failed
from plays import NAMES, TREE, Stage, Sums
from watchers import Kept, left_over, opens, processes_of

LOOK_S = 10
LEAST_LOOKS = 40
NEAR = 0.05
# docs/internals/record.md: 400 MB of rows, the log's 64 MB, free pages between.
MOST_RECORD_MB = 500
SETTLING_S = 60  # a job's end, after its time


class RealJob(Sums):
    def __init__(self, minutes, step_ms):
        super().__init__(steps=max(1, round(minutes * 60_000 / step_ms)))
        self.step_ms = step_ms


def sizes_mb(folder):
    return sum(file.stat().st_size for file in pathlib.Path(folder).glob("*.db*")) / 1e6


def taken(pid):
    process = pathlib.Path(f"/proc/{pid}")
    lines = (process / "status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    return {"rss_mb": int(status["VmRSS"].split()[0]) / 1000,
            "anon_mb": int(status["RssAnon"].split()[0]) / 1000, "threads": int(status["Threads"]),
            "descriptors": len(list((process / "fd").iterdir()))}


def look(play):
    """{role: what its processes take together}, of both nodes."""
    found = {"at_s": (time.monotonic_ns() - play.began_ns) / 1e9,
             "record_mb": sizes_mb(play.out(NAMES[0])), "roles": {}}
    for name in NAMES:
        for role, pids in processes_of(play.processes[name].pid).items():
            for pid in pids:
                figures, sum_ = taken(pid), found["roles"].setdefault(role, {})
                for what, figure in figures.items():
                    sum_[what] = sum_.get(what, 0) + figure
    return found


def watched(asked, lab, until):
    job = RealJob(asked.real_minutes, asked.step_ms)
    play = Stage(lab, asked.chokepoint).play(job, watched={name: {} for name in NAMES})
    every_s = min(LOOK_S, asked.real_minutes * 60 / LEAST_LOOKS)
    looks, due = [], 0
    while not play.has_ended(NAMES[0]):
        time.sleep(every_s)
        if play.has_ended(NAMES[0]):
            break
        if not play.processes[NAMES[0]].running():
            raise Failed(f"chokepoint ended before its job: {play.told()}")
        looks.append(look(play))
        if time.monotonic() >= due:
            due = time.monotonic() + 60
            say(f"long: {looks[-1]['at_s']:.0f} s, record {looks[-1]['record_mb']:.1f} MB, "
                f"{looks[-1]['roles'].get('watch')}")
        if until and until():
            break
    return play, looks


def quarter(looks, number, role, what):
    share = len(looks) // 4
    return statistics.median(one["roles"][role][what]
                             for one in looks[share * (number - 1):share * number])


def flatness(looks):
    """{role: {what: medians of the second and the last quarter}}"""
    roles = set.intersection(*(set(one["roles"]) for one in looks))
    return {role: {what: {"second": quarter(looks, 2, role, what),
                          "last": quarter(looks, 4, role, what)}
                   for what in ("rss_mb", "anon_mb", "threads", "descriptors")} for role in sorted(roles)}


def judged(flat, looks):
    found = []
    for role, figures in flat.items():
        for what, medians in figures.items():
            near = NEAR * medians["second"] if what.endswith("_mb") else 0
            if medians["last"] - medians["second"] > near:
                found.append(f"{role}: {what} grew from {medians['second']} to {medians['last']}")
    if len(looks) >= 4 and looks[-1]["record_mb"] > len(NAMES) * MOST_RECORD_MB:
        found.append(f"the records take {looks[-1]['record_mb']:.0f} MB")
    return found


def ended(play, program):
    """The complaints about the end; where time was up before it, none."""
    if not play.has_ended(NAMES[0]):
        return []
    play.end()
    found = opens(program, play.out(NAMES[0]))
    for name in NAMES:
        kept = Kept(play.out(name), name)
        if play.results(name)["status"] != "0" or not (kept.is_complete and kept.is_sound):
            found.append(f"{name}: the job or its record did not come to its end")
        if rest := left_over(play.stage.hosts[name]):
            found.append(f"{name}: processes {rest} of chokepoint are left")
    return found


def real(asked, lab, until):
    play, looks = watched(asked, lab, until)
    try:
        complaints = ended(play, asked.chokepoint)
    finally:
        play.remove()
    if len(looks) < 4:
        raise Failed(f"only {len(looks)} looks")
    flat = flatness(looks)
    share = len(looks) // 4
    return {"minutes": looks[-1]["at_s"] / 60, "looks": len(looks), "flat": flat,
            "record_mb": {"first_quarter": looks[share]["record_mb"],
                          "half": looks[2 * share]["record_mb"], "end": looks[-1]["record_mb"]},
            "complaints": complaints + judged(flat, looks), "all": looks}


def made_up(hours):
    program = TREE / "build/release/tests/bench/record_growth"
    if not program.exists():
        raise Failed("needs ninja -C build/release record_growth")
    say(f"long: {hours} made-up hours")
    done = subprocess.run([program, str(hours)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"record_growth: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(asked, lab, progress, until=None):
    part = {"complaints": []}
    if asked.made_up_hours:
        part["made_up"] = made_up(asked.made_up_hours)
    if asked.real_minutes:
        part["real"] = real(asked, lab, until)
        part["complaints"] = part["real"].pop("complaints")
    return part
