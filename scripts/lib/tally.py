#!/usr/bin/env python3
"""Adds up what the stages of scripts/test left behind.

For each stage there is STAGE.xml, JUnit as ctest writes it, or STAGE.note, one line
"failed<TAB>reason" or "skipped<TAB>reason" for a stage that never came to its tests. Where
STAGE-again.xml is, it holds the few that failed and were run once more with nothing beside them:
those that pass then count as passed and are named. What a sanitizer reported stays failed, since a
race need not show twice.
"""
import argparse
import dataclasses
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


SANITIZER = re.compile(r"Sanitizer|runtime error:")


@dataclasses.dataclass
class Outcome:
    stage: str
    name: str
    status: str  # passed, failed, skipped
    text: str  # why it was skipped, or what it wrote before it failed
    was_again: bool = False  # it failed at first


def skip_reason(output):
    """GoogleTest says "FILE:LINE: Skipped" and the reason below; our own tests "skipped: reason"."""
    own = re.search(r"^skipped: (.+)$", output, re.MULTILINE)
    if own:
        return own.group(1)
    google = re.search(r": Skipped\n(.*?)\n*\[ ", output, re.DOTALL)
    return " ".join(google.group(1).split()) if google and google.group(1).strip() else "no reason given"


def outcome(stage, case):
    output = case.findtext("system-out") or ""
    if case.get("status") == "run":
        return Outcome(stage, case.get("name"), "passed", "")
    verdict = case.find("skipped") if case.find("skipped") is not None else case.find("failure")
    message = verdict.get("message", "") if verdict is not None else ""
    # ctest calls "skipped" also what it could not start; only a test itself can ask to be skipped.
    if message.startswith("SKIP_"):
        return Outcome(stage, case.get("name"), "skipped", skip_reason(output))
    return Outcome(stage, case.get("name"), "failed", f"{message}\n{output}".strip())


def outcomes(folder, stage):
    note = folder / f"{stage}.note"
    if note.exists():
        status, reason = note.read_text().rstrip("\n").split("\t", 1)
        return [Outcome(stage, stage, status, reason)]
    results = folder / f"{stage}.xml"
    if not results.exists():
        return [Outcome(stage, stage, "failed", "the stage left no results")]
    try:
        first = read(results, stage)
        again = folder / f"{stage}-again.xml"
        return merged(first, read(again, stage)) if again.exists() else first
    except ElementTree.ParseError as error:
        return [Outcome(stage, stage, "failed", f"{results}: {error}")]


def read(results, stage):
    return [outcome(stage, case) for case in ElementTree.parse(results).getroot().iter("testcase")]


def merged(first, again):
    mended = {o.name for o in again if o.status == "passed"}
    for o in first:
        if o.status == "failed" and o.name in mended and not SANITIZER.search(o.text):
            o.status, o.was_again = "passed", True
    return first


def totals(found):
    count = {status: sum(1 for o in found if o.status == status)
             for status in ("passed", "failed", "skipped")}
    return count, ", ".join(f"{number} {status}" for status, number in count.items())


def ends(text, first=20, last=40):
    """What went wrong stands at the beginning or at the end of what a test wrote."""
    lines = text.splitlines()
    cut = len(lines) - first - last
    return lines[:first] + [f"… {cut} lines …"] + lines[-last:] if cut > 0 else lines


def tell(found):
    skipped = [o for o in found if o.status == "skipped"]
    if skipped:
        print("skipped:")
        for o in skipped:
            print(f"  {o.stage}: {o.name}: {o.text}")
    for o in found:
        if o.status == "failed" or o.was_again:
            print(f"{'passed only when run again' if o.was_again else 'failed'}: {o.stage}: {o.name}")
            for line in ends(o.text):
                print(f"  | {line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--brief", action="store_true", help="the totals only, always exit code 0")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("stages", nargs="+")
    options = parser.parse_args()

    found = [o for stage in options.stages for o in outcomes(options.folder, stage)]
    count, line = totals(found)
    if not options.brief:
        tell(found)
    print(line)
    if options.brief:
        return 0
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
