"""usage: corpus COMMAND …, as scripts/corpus tells.

The stored plays of real training under known faults, by which a change of a rule of attribution is
gated.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench" / "attribution"))

import gate  # noqa: E402
import ledger  # noqa: E402
import picking  # noqa: E402
import store  # noqa: E402
import tables  # noqa: E402
import verdicts  # noqa: E402
from rows import Refused  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIPPED = 77


def arguments():
    parser = argparse.ArgumentParser(prog="corpus", description=__doc__, usage=argparse.SUPPRESS)
    parser.add_argument("--corpus", type=pathlib.Path, default=HERE)
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add")
    add.add_argument("folder", type=pathlib.Path)
    add.add_argument("--only", default="*")
    add.add_argument("--most", type=int, default=64)
    drop = commands.add_parser("drop")
    drop.add_argument("names", nargs="+")
    for name in ("judge", "gate", "accept"):
        command = commands.add_parser(name)
        command.add_argument("--program", type=os.path.abspath,
                             default=ROOT / "build/release/chokepoint")
        command.add_argument("--report", type=pathlib.Path,
                             default=ROOT / "build/bench/corpus.json")
    commands.choices["judge"].add_argument("--only", default="*")
    commands.choices["accept"].add_argument("--reason", default="")
    commands.add_parser("seed")
    return parser.parse_args()


class Command:
    def __init__(self, asked):
        self.asked = asked
        self.corpus = store.Corpus(asked.corpus)
        self.expected = asked.corpus / "expected.tsv"
        self.ledger = asked.corpus / "ledger.tsv"

    def add(self):
        chosen = picking.picked(self.asked.folder, self.asked.only, self.corpus.plays(),
                                self.asked.most)
        for case in chosen:
            play = self.corpus.add(case)
            print(f"{play.name}: {play.kind}, {play.shape}, {play.bytes / 1e3:.0f} kB")
        plays = self.corpus.plays()
        print(f"{len(chosen)} plays are new; all {len(plays)} take "
              f"{sum(play.bytes for play in plays) / 1e6:.1f} MB")
        return 0

    def drop(self):
        for name in self.asked.names:
            self.corpus.drop(name)
        return 0

    def judgements(self, only="*"):
        """Written to the report, too."""
        began = time.monotonic()
        plays = [play for play in self.corpus.plays() if fnmatch.fnmatch(play.name, only)]
        found = verdicts.all_of(self.corpus, plays, self.asked.program)
        took = time.monotonic() - began
        print(f"{len(plays)} plays, {len(found)} records judged in {took:.1f} s", file=sys.stderr)
        if found:
            self.write(found, took)
        return found

    def write(self, found, took):
        file = self.asked.report
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({
            "schema": "chokepoint.bench.corpus/1", "seconds": took,
            "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "judgements": found}, indent=1) + "\n")
        file.with_suffix(".md").write_text(tables.markdown(found))

    def judge(self):
        found = self.judgements(self.asked.only)
        if not found:
            raise Refused("no such play is stored")
        print(tables.text(found))
        return 0

    def before_and_after(self):
        """Lines as expected, lines of these judgements, and what was lost between the two."""
        before = gate.read(self.expected)
        after = gate.by_key(gate.line_of(found) for found in self.judgements())
        kinds = {play.name: play.kind for play in self.corpus.plays()}
        return before, after, gate.losses(before, after, kinds)

    def gate(self):
        if not self.corpus.plays() and not self.expected.exists():
            print("skipped: no play is stored; scripts/corpus add stores some")
            return SKIPPED
        before, after, losses = self.before_and_after()
        wrong = losses + gate.unexpected(before, after)
        print("\n".join(wrong) or f"nothing is lost: {gate.counts(after)}")
        gained = gate.gains(before, after)
        if gained:
            print(f"{gained} lines are better than expected: 'scripts/corpus accept' keeps them so")
        return 1 if wrong else 0

    def accept(self):
        tree = ledger.rules(self.asked.corpus)
        before, after, losses = self.before_and_after()
        reason = self.asked.reason.strip()
        if losses and not reason:
            raise Refused("\n".join([*losses, "this is lost: give a --reason"]))
        ledger.append(self.ledger, tree, self.sets(), gate.counts(before), gate.counts(after),
                      reason)
        gate.write(self.expected, after)
        print("\n".join([*losses, f"accepted: {gate.counts(after)}"]))
        return 0

    def sets(self):
        return {play.set for play in self.corpus.plays()} - {store.NONE}

    def seed(self):
        known = self.sets() | ledger.sets_in(ledger.read(self.ledger))
        print(ledger.seed(ledger.rules(self.asked.corpus), known))
        return 0


def main():
    asked = arguments()
    try:
        return getattr(Command(asked), asked.command)()
    except (Refused, OSError) as reason:
        print(f"corpus: {reason}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
