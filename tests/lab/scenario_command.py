"""usage: tests/lab/lab scenario FILE… [--out DIR] [--twin] [--no-watch]
       tests/lab/lab scenario --all [--ci] …
       tests/lab/lab scenarios

Plays scenarios, each a file of tests/lab/scenarios or its name: real training on hosts of the lab
with one known fault, and a run record for each host where chokepoint watches. Prints the step time
that the job itself tells; exit code 1 where it is not what the file expects, or a record not what
is known without it. `scenarios` lists them. DIR/NAME gets records/ and, apart from it, the
truth. --twin plays each without its fault first, and prints how much slower it is with it.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import kept
import played_checks
import scenario
from kernel import Failed, Skipped


def arguments(words):
    parser = argparse.ArgumentParser(prog="tests/lab/lab", usage=argparse.SUPPRESS,
                                     description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="or the name of one")
    parser.add_argument("--all", action="store_true", help="every one there is")
    parser.add_argument("--ci", action="store_true", help="of these, those that the tests play")
    parser.add_argument("--out", type=pathlib.Path, help="a folder for records and truth")
    parser.add_argument("--twin", action="store_true", help="without the fault, too")
    parser.add_argument("--no-watch", action="store_true", help="the job alone")
    parser.add_argument("--build", type=pathlib.Path, help="where chokepoint is",
                        default=pathlib.Path(__file__).resolve().parents[2] / "build/release")
    return parser.parse_args(words)


def path_of(word):
    return word if word.endswith(".toml") else scenario.FOLDER / f"{word}.toml"


def chosen(asked):
    files = scenario.all_files() if asked.all or asked.ci else map(path_of, asked.files)
    found = [scenario.read(file) for file in files]
    return [one for one in found if one.ci or not asked.ci]


def can_watch(build):
    """Whether this chokepoint has `run`."""
    return subprocess.run([build / "chokepoint", "run", "--help"], check=False,
                          capture_output=True).returncode == 0


def told(one, result):
    truth = " ".join(f"{name}={value}" for name, value in one.truth.items())
    whole = "" if set(result.statuses.values()) == {0} else f", exit {result.statuses}"
    return (f"{one.name:24} {result.usual_ms:8.1f} ms a step, longest {result.longest_ms:.0f}, "
            f"{len(result.steps_ms)} steps in {result.seconds:.1f} s{whole}; {truth}")


def play(one, asked, out):
    healthy = None
    if asked.twin and one.fault:
        healthy = kept.play(one.without_fault(), out / f"{one.name}.twin", asked.build,
                            asked.is_watched)
    result = kept.play(one, out / one.name, asked.build, asked.is_watched)
    print(told(one, result), flush=True)
    if healthy:
        print(f"{'':24} {healthy.usual_ms:8.1f} ms without the fault, longest "
              f"{healthy.longest_ms:.0f}: {result.usual_ms / healthy.usual_ms:.2f} times",
              flush=True)
    if result.records:
        print(f"{'':24} records in {result.records}", flush=True)
    played_checks.all_of(one, result)


def list_all():
    for one in map(scenario.read, scenario.all_files()):
        print(f"{one.name:24} {one.truth['class']:14} {one.about}")


def main(words):
    if words[0] == "scenarios":
        list_all()
        return 0
    asked = arguments(words[1:])
    asked.is_watched = not asked.no_watch and can_watch(asked.build)
    out = asked.out or pathlib.Path(tempfile.mkdtemp(prefix="scenarios-"))
    failed = False
    for one in chosen(asked):
        try:
            play(one, asked, out)
        except (Failed, Skipped) as reason:
            # What this machine lacks was not asked for by name.
            failed |= isinstance(reason, Failed) or not (asked.all or asked.ci)
            print(f"{one.name:24} {reason}", file=sys.stderr)
    if asked.is_watched or asked.out:
        print(f"all of it lies in {out}", file=sys.stderr)
    return 1 if failed else 0
