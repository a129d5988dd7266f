"""usage: endurance [--kills N] [--faults N] [--hostile N] [--real-minutes M] [--step-ms MS] [--made-up-hours H]
                 [--lanes N] [--torch-share S] [--seed N] [--within MINUTES] [--out FILE]
                 CHOKEPOINT [kills|faults|hostile|long]…

What chokepoint promises of the worst: kills of its processes around a real Gloo job, faults of
disk, memory, clock and interfaces, hostile peers of a server, hours of watching. Prints progress on
standard error; FILE gets all figures, and the tables stand beside it in Markdown. Exit code 1 where a
promise was broken.
"""

import argparse
import json
import os
import pathlib
import sys
import time

sys.dont_write_bytecode = True
for folder in ("bench/endurance", "lab"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / folder))

import fault_part  # noqa: E402
import hostile_part  # noqa: E402
import kill_part  # noqa: E402
import long_part  # noqa: E402
import tables  # noqa: E402
from lab import Failed, Lab, Skipped  # noqa: E402
from lanes import say  # noqa: E402

SCHEMA = "chokepoint.bench.endurance/1"
PARTS = {"kills": kill_part, "faults": fault_part, "hostile": hostile_part, "long": long_part}
SECONDS_BETWEEN_LINES = 10


def arguments():
    parser = argparse.ArgumentParser(prog="endurance", description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--faults", type=int, default=300, help="of each kind")
    parser.add_argument("--only", default="*", help="kinds of faults of such names")
    parser.add_argument("--hostile", type=int, default=1000, help="peers in all")
    parser.add_argument("--real-minutes", type=float, default=60)
    parser.add_argument("--step-ms", type=int, default=50,
                        help="of the watched job: with 12 an hour's steps pass in a quarter of it")
    parser.add_argument("--made-up-hours", type=int, default=24, help="0 leaves them out")
    parser.add_argument("--lanes", type=int, default=6, help="plays side by side")
    parser.add_argument("--torch-share", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--within", type=float,
                        help="minutes; what is not begun by then is left out")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("endurance.json"))
    parser.add_argument("chokepoint", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    asked = parser.parse_intermixed_args()
    asked.chokepoint = asked.chokepoint.resolve()
    asked.parts = asked.parts or [*PARTS]
    return asked


class Progress:
    """A line now and then, and each complaint at once."""

    def __init__(self, name):
        self.name, self.due, self.began = name, 0, time.monotonic()

    def __call__(self, results):
        for words in results[-1].get("complaints", []):
            last = results[-1]
            say(f"{self.name} {last.get('kind', '')} {last.get('number', '')}: {words}")
        if time.monotonic() >= self.due:
            self.due = time.monotonic() + SECONDS_BETWEEN_LINES
            harmed = sum(bool(one.get("complaints")) for one in results)
            say(f"{self.name}: {len(results)} done, {harmed} with a complaint, "
                f"{time.monotonic() - self.began:.0f} s")


def measured(name, asked, deadline):
    began = time.time()
    until = (lambda: time.monotonic() > deadline) if deadline else None
    with Lab([asked.chokepoint.parent]) as lab:
        part = PARTS[name].measure(asked, lab, Progress(name), until)
    return {**part, "seconds": time.time() - began,
            "began": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(began))}


def keep(document, out):
    """After each part, with what an earlier run measured of the others."""
    before = of_file(out)
    with_others = dict(document, parts={**before, **{
        name: {**before.get(name, {}), **part} for name, part in document["parts"].items()}})
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(with_others, indent=1) + "\n")
    out.with_suffix(".md").write_text(tables.all_of(with_others))


def of_file(out):
    try:
        document = json.loads(out.read_text())
    except (OSError, ValueError):
        return {}
    return document["parts"] if document.get("schema") == SCHEMA else {}


def main():
    asked = arguments()
    deadline = time.monotonic() + 60 * asked.within if asked.within else None
    document = {"schema": SCHEMA, "seed": asked.seed, "parts": {},
                "machine": {"kernel": os.uname().release, "processors": os.cpu_count()}}
    failed = False
    for name in asked.parts:
        try:
            document["parts"][name] = part = measured(name, asked, deadline)
        except (Failed, Skipped) as reason:
            say(f"{name}: not measured: {reason}")
            failed = True
            continue
        failed = failed or bool(part["complaints"])
        keep(document, asked.out)
        print(tables.of_part(name, part))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
