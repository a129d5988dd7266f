#!/usr/bin/env python3
"""usage: alone.py PROGRAM JOB PRELOAD GROUP [PART OF A NAME]

Plays each row of a group of tests/cli/alone/environments.py twice: JOB by itself, and the same JOB
by `PROGRAM run`. Fails where the job's status, output or what it finds of itself differ. PRELOAD is
tests/lab/preload's.
"""

import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

import environments
import played

GROUPS = {
    "variables": lambda _: environments.variables(),
    "streams": lambda _: environments.streams(),
    "limits": lambda _: environments.limits(),
    "signals": lambda _: environments.signals(),
    "inherited": lambda _: environments.inherited(),
    "places": lambda _: environments.places(),
    "clocks": environments.clocks,
}
LANES = 3  # rows at a time: a play mostly waits


def words_of(row, program, job):
    alone = [job, row.end, str(played.REPORT)]
    out = [] if row.out is None else ["--out", row.out]
    return alone, [program, "run", *out, *row.options, "--", *alone]


def emptied(folder):
    # Not shutil's: folders lie in folders as deep as paths are long, and some may not be read.
    subprocess.run(["rm", "-rf", folder], check=True)
    folder.mkdir(0o777, parents=True)
    folder.chmod(0o777)


def failures(row, program, job, folder):
    seen = []
    for words in words_of(row, program, job):
        emptied(folder)
        if row.prepare:
            row.prepare(folder)
        seen.append(played.play(row, words, folder))
    alone, watched = seen
    if any(line.startswith("not started") for line in alone.report):
        return ["cannot be set up: " + " / ".join(alone.report)[:2000]]
    found = list(played.differences(alone, watched, row.unlike, "--diagnose" in row.options))
    return [*found, f"chokepoint said: {watched.own_lines()[:1000]}"] if found else []


def judge(number):
    row, program, job, base = WORK[number], *ARGUMENTS
    try:
        return failures(row, program, job, base / str(number))
    except Exception:
        return [traceback.format_exc()]


def main(program, job, preload, group, part=""):
    global WORK, ARGUMENTS
    rows = [row for row in GROUPS[group](preload) if part in row.name]
    WORK = [row for row in rows if row.needs != "root" or os.geteuid() == 0]
    twice = [name for name, count in collections.Counter(row.name for row in rows).items() if count > 1]
    if twice:
        sys.exit(f"rows of one name: {twice}")
    with tempfile.TemporaryDirectory(prefix="chokepoint-alone-") as base:
        os.chmod(base, 0o755)
        ARGUMENTS = (os.path.abspath(program), os.path.abspath(job), pathlib.Path(base))
        with concurrent.futures.ProcessPoolExecutor(LANES) as lanes:
            found = list(lanes.map(judge, range(len(WORK))))
        emptied(pathlib.Path(base))
    failed = 0
    for row, lines in zip(WORK, found):
        if lines:
            failed += 1
            print(f"{row.name}:\n" + "".join(f"    {line}\n" for line in lines))
    left_out = len(rows) - len(WORK)
    print(f"{group}: {len(WORK)} rows, {failed} failed" +
          (f", {left_out} skipped: they need root" if left_out else ""))
    return 1 if failed or not WORK else 0


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
