"""usage: confirm --draw N --seed S [--only GLOB] [--out DIR] [--report FILE.json] CHOKEPOINT
       confirm --judge-only DIR [--only GLOB] [--report FILE.json] CHOKEPOINT
       confirm --beside PAIRS [--percent P] [--seconds S] [--report FILE.json] CHOKEPOINT

How often `chokepoint diagnose --confirm` is right: plays jobs, wires and faults that a seed draws, as
`attribution --draw` does, and has each verdict tested on the job's hosts once the job is over. Of the
faults that can end, half are over by then. A confirmed verdict is right where class and place are and
the fault is there; one that is not confirmed, where either is wrong or the fault is over. The same with a copy of the records that holds nothing of packets,
sockets and connections, as where a host lets nobody look at them: its verdict is unknown, and the
tests are to find the cause. --judge-only judges what lies in DIR already. FILE.json gets
everything, a file .md beside it the tables. --beside measures instead what tests of a running job cost
it: pairs of plays of S seconds that allow P percent, tested and not. Nothing fails by what is measured.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import random
import shutil
import sys
import time

for folder in ("../../lab", "../attribution", "../overhead"):
    sys.path.append(str((pathlib.Path(__file__).parent / folder).resolve()))

import beside  # noqa: E402
import confirmed  # noqa: E402
import draw  # noqa: E402
import figures  # noqa: E402
import judging  # noqa: E402
import playing  # noqa: E402
import lacking  # noqa: E402
import recordings  # noqa: E402
import report  # noqa: E402

SPARE_MB = 800  # of a disk, for what a test of storage writes
CAN_END = ("link", "competing", "slow-files", "slow-disk")
HAS_ENDED = ("cut", "flap")
BLIND = "blind"  # the copy's folder
OF_EXCHANGES = ("collective", "flow_sample", "flow_mark", "flow_total", "socket_sample", "flow")
# Of what a test of hosts and paths can find, while the fault is there.
FINDABLE = ("link", "sysctls", "competing", "processor-taken", "processor-quota")
STATES = ("confirmed", "not-confirmed", "open", "not tested")


def arguments():
    parser = argparse.ArgumentParser(prog="confirm", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--draw", type=int, metavar="N", default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*")
    parser.add_argument("--out", type=pathlib.Path, default="build/bench/confirm")
    parser.add_argument("--judge-only", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--beside", type=int, metavar="PAIRS")
    parser.add_argument("--percent", type=float, default=1)
    parser.add_argument("--seconds", type=int, default=80)
    parser.add_argument("--report", type=pathlib.Path, default="build/bench/confirm.json")
    parser.add_argument("chokepoint")
    asked = parser.parse_args()
    asked.chokepoint = os.path.abspath(asked.chokepoint)
    return asked


def drawn(seed, number):
    one = draw.play(seed, number)
    if one.job.data:
        one.job.data |= {"spare_mb": SPARE_MB}
    return one


def is_over(one):
    """Before the tests."""
    kind = one.fault.get("kind")
    return kind in HAS_ENDED or (kind in CAN_END and random.Random(f"over {one.name}").random() < 0.5)


class BlindToo(confirmed.Confirmed):
    def confirm_with(self, key, records, *options):
        super().confirm_with(key, records, *options)
        with lacking.copies(records) as (folder, databases):
            for database in databases:
                with database:
                    for table in OF_EXCHANGES:
                        database.execute(f"DELETE FROM {table}")
            shutil.copytree(folder, self.folder / BLIND)
        super().confirm_with(key, self.folder / BLIND, *options)


class FaultOver(BlindToo):
    is_fault_over = True


class Sweep(playing.Sweep):
    def player_of(self, one):
        over = is_over(one) and one.fault["kind"] in CAN_END
        return FaultOver if over else BlindToo

    def more(self, one):
        return {"over": is_over(one)}


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def play(asked):
    sweep = Sweep(pathlib.Path(asked.chokepoint).parent, asked.out, say)
    ones = [one for _, one in draw.plays(asked.seed, asked.draw, drawn)
            if fnmatch.fnmatch(one.name, asked.only)]
    began = time.monotonic()
    sweep.play(ones, 1)
    return sweep.failed, (time.monotonic() - began) / max(1, len(ones))


def state_of(one):
    return one["confirmation"]["state"] if one["confirmation"] else "not tested"


def holds(one):
    """What the verdict says was so in the job, and is."""
    return figures.is_right(one) and not one["over"]


def before(one):
    """As it was without its tests."""
    told = one["told"]
    tested = one["confirmation"]
    return {**one, "told": {**told, "confidence": tested["confidence_before"] if tested
                            else told["confidence"]}}


def blind(chokepoint, case):
    """What the tests say where the records hold nothing of the exchanges."""
    folder = case.folder / BLIND
    document, failure, _ = judging.answer(chokepoint, folder) if folder.is_dir() else (None, None, 0)
    return document and {"class": document["verdict"]["class"], "failure": failure,
                         "confirmation": judging.confirmation(document)}


def unknowns(judgements, of):
    """`of` one of the judgements: its class and what its tests say."""
    ones = [one for one in judgements if of(one) and of(one)["class"] == "unknown"]
    led = [one for one in ones if led_to(of(one))]
    findable = [one for one in ones if one["kind"] in FINDABLE and not one["over"]]
    return {"before": len(ones), "after": len(ones) - len(led),
            "led": figures.share([led_to(of(one)) == one["true"]["class"] for one in led]),
            "found": figures.share([led_to(of(one)) == one["true"]["class"] for one in findable])}


def led_to(told):
    return (told["confirmation"] or {}).get("leads_to")


def summed(judgements):
    by_state = {state: [one for one in judgements if state_of(one) == state
                        and one["told"]["class"] != "unknown"] for state in STATES}
    return {"confirmed": figures.share([holds(one) for one in by_state["confirmed"]]),
            "not_confirmed": figures.share([not holds(one) for one in by_state["not-confirmed"]]),
            "right": {state: figures.share([figures.is_right(one) for one in ones])
                      for state, ones in by_state.items()},
            "unknown": unknowns(judgements, lambda one: {"class": one["told"]["class"],
                                                         "confirmation": one["confirmation"]}),
            "blind": unknowns(judgements, lambda one: one["blind"]),
            "before": figures.calibration([before(one) for one in judgements]),
            "after": figures.calibration(judgements)}


def document_of(asked, folder, failed):
    cases, _ = recordings.below(folder)
    cases = [case for case in cases if fnmatch.fnmatch(case.name, asked.only)]
    left_out = [{"name": case.name, "why": case.why_no_scenario()} for case in cases
                if case.why_no_scenario()]
    judgements = [{**judging.judged(asked.chokepoint, case), "over": case.document["over"],
                   "kind": case.document.get("fault", {}).get("kind"),
                   "blind": blind(asked.chokepoint, case)}
                  for case in cases if not case.why_no_scenario()]
    left_out += [{"name": name, "why": why} for name, why in failed.items()]
    return {"schema": "chokepoint.bench.confirm/1",
            "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": {"kernel": os.uname().release, "processors": os.cpu_count(),
                        "load": os.getloadavg()[0]},
            "cases": len(judgements), "figures": summed(judgements), "left_out": left_out,
            "judgements": judgements}


def sections(document):
    found = document["figures"]
    yield f"{document['cases']} plays, seconds each {report.number(document['play_s'])}", [
        ["", ""], ["confirmed, and right", report.counted(found["confirmed"])],
        ["not confirmed, and right", report.counted(found["not_confirmed"])],
        *([f"verdict right where {state}", report.counted(share)]
          for state, share in found["right"].items()),
        *(row for what, told in (("", found["unknown"]), (", nothing seen", found["blind"]))
          for row in ([f"unknown without tests{what}", str(told["before"])],
                      [f"unknown with them{what}", str(told["after"])],
                      [f"led to a class, and right{what}", report.counted(told["led"])],
                      [f"found, of what can be{what}", report.counted(told["found"])]))]
    for name in ("before", "after"):
        rows = report.reliability({"figures": {"calibration": found[name]}})
        yield (f"Confidence {name} the tests, and how often it was right; off on average "
               f"{report.percent(found[name]['error'])}"), rows
    yield "All of them", [["play", "true", "over", "told", "confidence", "state", "tests"], *(
        [one["name"], report.said(one["true"], one["true"]), "over" if one["over"] else "",
         one["failure"] or report.said(one["told"], one["told"]["where"]),
         f"{report.percent(before(one)['told']['confidence'], 0)} → "
         f"{report.percent(one['told']['confidence'], 0)}", state_of(one),
         (one["confirmation"] or {}).get("sentence") or ""] for one in document["judgements"])]
    yield "Of records without the exchanges", [["play", "true", "over", "tests"], *(
        [one["name"], report.said(one["true"], one["true"]), "over" if one["over"] else "",
         (one["blind"]["confirmation"] or {}).get("sentence") or one["blind"]["failure"] or ""]
        for one in document["judgements"] if one["blind"])]
    if document["left_out"]:
        yield "No scenarios", report.left_out(document)


def main():
    asked = arguments()
    if asked.beside:
        found = beside.measure(pathlib.Path(asked.chokepoint).parent, asked.percent, asked.seconds,
                               asked.beside, say)
        asked.report.write_text(json.dumps(found, indent=1) + "\n")
        print(beside.text(found))
        return 0
    failed, seconds = ({}, None) if asked.judge_only else play(asked)
    document = {**document_of(asked, asked.judge_only or asked.out, failed), "play_s": seconds}
    asked.report.write_text(json.dumps(document, indent=1) + "\n")
    parts = list(sections(document))
    asked.report.with_suffix(".md").write_text(
        "\n\n".join(f"## {title}\n{report.table(rows)}" for title, rows in parts) + "\n")
    print("\n\n".join(f"{title}\n{report.aligned(rows)}" for title, rows in parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
