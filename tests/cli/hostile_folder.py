#!/usr/bin/env python3
"""usage: hostile_folder.py [--only TEXT] [--every N] [--list] [--patience N] PROGRAM UNPACK

Every command of PROGRAM before every kind of file that may lie where it looks: pipes, sockets,
devices, links, sparse and endless files, another user's. hostile/commands.py lists the commands and
the files that each opens, hostile/kinds.py the kinds; a case is one of each. It must end soon, with
an exit code of its own, name what it cannot use, leave no process and no file behind, and write
nothing through a link.

Up to twenty cases that were slow are played again, alone: machines are shared.

  --only TEXT   only cases in whose line TEXT stands: "given files/key: probe tcp … × pipe"
  --every N     each Nth case alone
  --list        print the cases
  --patience N  factor of all bounds, for builds with a sanitizer
"""

import argparse
import concurrent.futures
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "hostile"))

import commands  # noqa: E402
import kinds  # noqa: E402
import runner  # noqa: E402
import templates  # noqa: E402

MOST_AGAIN = 20


def suits(row, kind):
    if row.is_folder and not kind.for_folders:
        return False
    # What the old content was does not matter to who replaces it.
    if row.how == "written" and kind.is_content:
        return False
    return not (row.place.endswith("/*") and kind.name in ("huge text", "sparse file", "growing file"))


def cases(only):
    for row in commands.ROWS:
        for kind in kinds.KINDS:
            if suits(row, kind) and only in f"{row} × {kind.name}":
                yield row, kind


def is_slow_only(failures):
    return bool(failures) and all(failure.startswith(("slow", "hangs")) for failure in failures)


def play_all(chosen, settings):
    workers = max(2, os.cpu_count() or 1)
    with concurrent.futures.ProcessPoolExecutor(workers, initializer=runner.inherit_orphans) as pool:
        waiting = [pool.submit(runner.play, row, kind, settings) for row, kind in chosen]
        found = [each.result() for each in waiting]
        slow = [at for at, failures in enumerate(found) if is_slow_only(failures)]
        for at in slow[:MOST_AGAIN]:
            found[at] = pool.submit(runner.play, *chosen[at], settings).result()
    return found


def main():
    flags = argparse.ArgumentParser(usage=__doc__)
    flags.add_argument("program")
    flags.add_argument("unpack")
    flags.add_argument("--only", default="")
    flags.add_argument("--list", action="store_true")
    flags.add_argument("--patience", type=float, default=1)
    flags.add_argument("--every", type=int, default=1)
    given = flags.parse_args()
    chosen = list(cases(given.only))[::given.every]
    left_out = 0
    if os.geteuid() != 0:
        # Nobody else's files can be made.
        left_out = sum(kind.name == "another user's" for _, kind in chosen)
        chosen = [(row, kind) for row, kind in chosen if kind.name != "another user's"]
    if given.list:
        print("\n".join(f"{row} × {kind.name}" for row, kind in chosen))
        return 0
    with tempfile.TemporaryDirectory(prefix="chokepoint-hostile-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        program = templates.program_for_all(pathlib.Path(given.program), folder)
        (folder / "templates").mkdir()
        templates.make(program, given.unpack, folder / "templates")
        settings = runner.Settings(program=str(program), python=templates.python_for_all(),
                                   templates=folder / "templates", cases=folder / "cases",
                                   sources=kinds.Sources(folder), patience=given.patience)
        found = play_all(chosen, settings)
    failed = 0
    for (row, kind), failures in zip(chosen, found):
        failed += bool(failures)
        for failure in failures:
            print(f"{row} × {kind.name}: {failure}")
    print(f"{len(chosen)} cases: {len(chosen) - failed} passed, {failed} failed, {left_out} left out"
          + (" (another user's files need root)" if left_out else ""))
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
