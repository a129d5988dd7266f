"""usage: ranks [--hosts N] [--each N] [--steps N] [--layers N] [--events WHICH] [--keep DIR]
             [--out FILE] CHOKEPOINT [healthy|narrow|late]…

A job of many ranks on the stand-in for NCCL, tensor, data and pipeline parallel at once, watched on
each host: what each `chokepoint run` takes of a core, of memory and of the disk, whether it loses
anything, how long and how large what is made of the records is, and whether the verdict is right.
EVENTS are CHOKEPOINT_NCCL_EVENTS of the job. DIR keeps the records; FILE gets all figures.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

for folder in ("overhead", "probes", "../lab"):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / folder))

import parts  # noqa: E402
from grid import Grid  # noqa: E402
from lab import Failed, Lab  # noqa: E402
from paired import spread  # noqa: E402
from trial import LOOK_SECONDS, Watcher  # noqa: E402

PAINT_TIMES = pathlib.Path(__file__).parents[2] / "web" / "program"
NARROW = "host2"
RUN_SECONDS = 300
MADE = ("perfetto", "csv", "json", "prometheus")


def late_rank(asked):
    return asked.hosts * asked.each * 37 // 64


JOBS = {
    "healthy": lambda grid, asked: grid.play("healthy", **common(asked)),
    "narrow": lambda grid, asked: narrowed(grid).play("narrow", bytes=400_000, **common(asked)),
    "late": lambda grid, asked: grid.play("late", late_rank=late_rank(asked), late_ms=120,
                                          **common(asked)),
}


def common(asked):
    environment = {"CHOKEPOINT_NCCL_EVENTS": asked.events} if asked.events else None
    return {"steps": asked.steps, "layers": asked.layers, "environment": environment}


def narrowed(grid):
    grid.limit(NARROW, 100)
    return grid


def is_right(name, verdict, asked):
    where = verdict["where"]
    if name == "late":
        # Without kernels nothing tells which of the ranks of a host is the late one.
        is_told = not asked.events or "kernels" in asked.events or asked.events == "all"
        host = f"host{1 + late_rank(asked) // asked.each}"
        return (verdict["class"], where["node"], where["rank"]) == (
            "straggler", host, late_rank(asked) if is_told else None)
    if name == "narrow":
        return (verdict["class"], where["from"]) == ("lan-bandwidth", NARROW)
    return verdict["class"] == "compute"


def arguments():
    parser = argparse.ArgumentParser(prog="ranks", usage=__doc__.split("\n\n")[0][len("usage: "):])
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--each", type=int, default=16)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--events", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--out", default="ranks.json")
    return parts.asked_for(parser, JOBS)


def measure(name, asked):
    with Lab([pathlib.Path(asked.chokepoint).parent]) as lab:
        played = JOBS[name](Grid(lab, asked.hosts, asked.each), asked)
        figures = watched(played, asked.chokepoint, lab.folder)
        made = {what: spent(words, lab.folder) for what, words in
                makers(asked.chokepoint, played.out, lab.folder).items()}
        verdict = played.diagnosis()["verdict"]
        page = lab.folder / "page.html"
        kept = {**figures, "made": made, "verdict": verdict,
                "is_right": is_right(name, verdict, asked), "open_ms": paint_times(page)}
        if asked.keep:
            shutil.copytree(played.out, asked.keep / name, dirs_exist_ok=True)
            shutil.copy(page, asked.keep / f"{name}.html")
    return kept


def watched(played, program, folder):
    """Looks at the watchers until the job is over, and once by `live` in its middle."""
    watchers = {host.name: Watcher(host, program) for host in played.cluster.hosts}
    began, live = time.monotonic(), None
    while any(run.running() for run in played.runs.values()):
        time.sleep(LOOK_SECONDS)
        for watcher in watchers.values():
            watcher.look()
        if live is None and time.monotonic() - began > 15:
            live = spent([program, "live", played.out, "--once", "--json"], folder)
    for run in played.runs.values():
        if run.wait(RUN_SECONDS) != 0:
            raise Failed(run.told())
    hosts = {name: watcher.figures(played.out / f"{name}.db")
             for name, watcher in watchers.items()}
    return {"hosts": hosts, "live": live,
            "rows": {name: rows_of(played, name) for name in hosts}}


def rows_of(played, host):
    with played.record(host) as record:
        return {"collectives": record.value("SELECT count(*) FROM collective"),
                "ranks": record.value("SELECT count(DISTINCT rank) FROM collective"),
                "dropped": record.rows("SELECT subject, detail FROM event "
                                       "WHERE kind = 'dropped'")}


def makers(program, records, folder):
    return {"diagnose": [program, "diagnose", records, "--json"],
            "report": [program, "report", records, "-o", folder / "page.html", "-q"],
            **{f"export {to}": [program, "export", records, "--to", to, "-o", folder / to, "-q"]
               for to in MADE}}


def spent(words, folder):
    """A program's wall clock, processor and largest memory, and what it printed or wrote."""
    with open(folder / "printed", "wb") as out:
        began = time.monotonic()
        child = subprocess.Popen(words, stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
    if child.returncode != 0:
        raise Failed(f"exit status {child.returncode} of {' '.join(map(str, words))}")
    written = words[words.index("-o") + 1] if "-o" in words else folder / "printed"
    return {"seconds": seconds, "processor_s": usage.ru_utime + usage.ru_stime,
            "memory_mb": usage.ru_maxrss * 1024 / 1e6, "bytes": bytes_of(written)}


def bytes_of(path):
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def paint_times(page):
    """Nothing where there is no browser."""
    done = subprocess.run([PAINT_TIMES, "paint_times", page], stdout=subprocess.PIPE, text=True,
                          check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def table(name, part):
    hosts = part["hosts"].values()
    costs = {what: spread([host[key] for host in hosts]) for what, key in
             (("% of a core once set up", "running_percent"), ("memory, MB", "memory_mb"),
              ("record, MB", "record_mb"))}
    made = {**part["made"], "live --once": part["live"]}
    verdict = part["verdict"]
    return "\n".join([
        f"{name}: {verdict['class']}, {verdict['cause']}, {verdict['where']}, "
        f"{verdict['lost_ms_per_step']:.0f} ms: {'right' if part['is_right'] else 'WRONG'}",
        *(f"  {what}: {cost['median']:.1f} ({cost['min']:.1f} to {cost['max']:.1f})"
          for what, cost in costs.items()),
        *(f"  {host}: {rows}" for host, rows in part["rows"].items()),
        *(f"  {what}: {one['seconds']:.2f} s, processor {one['processor_s']:.2f} s, "
          f"{one['memory_mb']:.0f} MB, {one['bytes'] / 1e6:.2f} MB written"
          for what, one in made.items() if one),
        f"  first paint, ms: {[each['first_paint_ms'] for each in part['open_ms']]}"])


def main():
    asked = arguments()
    machine = {"kernel": os.uname().release, "processors": os.cpu_count(),
               "load": os.getloadavg()[0]}
    document = parts.measured("chokepoint.bench.ranks/1", machine, asked.parts or JOBS,
                              lambda name: measure(name, asked), asked.out)
    for name, part in document["parts"].items():
        print(table(name, part))
    return 1 if document.get("without") else 0


if __name__ == "__main__":
    sys.exit(main())
