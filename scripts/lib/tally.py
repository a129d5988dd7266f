#!/usr/bin/env python3
"""Adds up what the stages of scripts/test left behind.

For each stage there is STAGE.xml, JUnit as ctest writes it, or STAGE.note, one line
"failed<TAB>reason" or "skipped<TAB>reason" for a stage that never came to its tests. A program of
Google Test is one test for ctest; its cases are counted one by one, as it names them. Where
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
    own = re.search(r"^skipped: (.+)$", output, re.MULTILINE)
    return own.group(1) if own else "no reason given"


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


# What Google Test says of a case between "[ RUN      ] Suite.Case" and the verdict, as far as it came.
CASE = re.compile(r"^\[ RUN      \] (\S+)\n(.*?)(?:^\[ +(OK|FAILED|SKIPPED) +\] \1\b|(?=^\[ RUN)|\Z)",
                  re.MULTILINE | re.DOTALL)
STATUS = {"OK": "passed", "SKIPPED": "skipped", "FAILED": "failed", None: "failed"}


def cases(stage, whole, output):
    """The cases of a program of Google Test; what went wrong beside them stands under its own name."""
    found = []
    for name, text, verdict in CASE.findall(output):
        status = STATUS[verdict or None]
        if status == "skipped":
            reason = re.search(r": Skipped\n(.*)", text, re.DOTALL)
            text = " ".join(reason.group(1).split()) if reason else ""
            text = text or "no reason given"
        found.append(Outcome(stage, f"{whole.name}: {name}", status, "" if status == "passed" else text))
    if whole.status == "failed" and all(o.status != "failed" for o in found):
        found.append(whole)
    return found or [whole]


def expanded(stage, case):
    output = case.findtext("system-out") or ""
    whole = outcome(stage, case)
    return cases(stage, whole, output) if "[==========] Running" in output else [whole]


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
    return [o for case in ElementTree.parse(results).getroot().iter("testcase")
            for o in expanded(stage, case)]


def merged(first, again):
    """The first run with what the second one made good. Programs that did not come to their end the
    first time have cases in the second one alone."""
    mended = {o.name for o in again if o.status == "passed"}
    failed = {o.name for o in again if o.status == "failed"}
    for o in first:
        # A program that broke down as a whole is mended where it came to its end without a failure.
        came_to_its_end = (any(name.startswith(f"{o.name}: ") for name in mended)
                           and not any(name.startswith(o.name) for name in failed))
        if (o.status == "failed" and (o.name in mended or came_to_its_end)
                and not SANITIZER.search(o.text)):
            o.status, o.was_again = "passed", True
    known = {o.name for o in first}
    return first + [o for o in again if o.name not in known]


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
