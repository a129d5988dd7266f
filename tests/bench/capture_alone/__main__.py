"""usage: capture_alone [--draw N] [--seed S] [--of KIND[,KIND…]] [--everywhere] [--out DIR]
                     CHOKEPOINT
       capture_alone --diagnose-only DIR CHOKEPOINT

How often `chokepoint diagnose CAPTURE` is right that has nothing but what tcpdump saw on one host of
a job: plays real training under faults that a seed draws (tests/bench/attribution/draw.py), each
with its healthy twin, and without `chokepoint run`; needs root. --of: only these kinds, by default
those that a capture can show. --everywhere: each host of the job is captured. --diagnose-only judges
what lies in DIR. The table is in build/bench/capture-alone.md. Nothing fails by what is measured.
"""

import argparse
import functools
import json
import os
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1] / "lab"), str(HERE.parent / "attribution")]

import captured  # noqa: E402
import draw  # noqa: E402
import judging  # noqa: E402
import playing  # noqa: E402
import recordings  # noqa: E402

# What happens inside a host is in no capture: a starved host, files, loaders.
SHOWN = ["healthy", "narrow", "policed", "far", "lossy", "broken", "late", "late_stage",
         "small_buffer", "competing"]
WITHIN = 0.2  # of the lost time


class Sweep(playing.Sweep):
    player = captured.Captured

    def player_of(self, one):
        return self.player

    def healthy_ms(self, one, folder):
        found = playing.kept.play(one.without_fault(), folder, self.build, player=self.player)
        return found.usual_ms


class SweepEverywhere(Sweep):
    player = captured.CapturedEverywhere


def arguments():
    parser = argparse.ArgumentParser(prog="capture_alone", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--draw", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--of", type=lambda text: text.split(","), default=SHOWN)
    parser.add_argument("--modern", type=float, default=0)
    parser.add_argument("--everywhere", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default="build/bench/capture-alone")
    parser.add_argument("--play-only", action="store_true")
    parser.add_argument("--diagnose-only", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--report", type=pathlib.Path, default="build/bench/capture-alone.json")
    parser.add_argument("chokepoint")
    asked = parser.parse_args()
    asked.chokepoint = os.path.abspath(asked.chokepoint)
    return asked


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def play(asked):
    named = draw.plays(asked.seed, asked.draw,
                       functools.partial(draw.play, of=asked.of, modern=asked.modern))
    kind = SweepEverywhere if asked.everywhere else Sweep
    sweep = kind(pathlib.Path(asked.chokepoint).parent, asked.out, say)
    sweep.play(playing.dealt(named, asked.seed), 1)


def judged(asked, case):
    files = sorted((case.folder / captured.FOLDER).glob("*.pcap"))
    found = judging.held(case, *judging.answer(asked.chokepoint, *files))
    off = off_by_share(found)
    within = None if off is None or not found["class_right"] else abs(off) <= WITHIN
    return {**found, "off": off, "within": within}


def off_by_share(found):
    """Of the lost share of the time: where a job exchanges in every fourth step only, four steps look
    like one."""
    lost, step = found["lost"], found["step_ms"]
    if not lost or not step["told"] or lost["told"] is None or not lost["true"]:
        return None
    return (lost["told"] / step["told"]) / (lost["true"] / step["true"]) - 1


def counted(values):
    known = [value for value in values if value is not None]
    share = f" ({sum(known) / len(known):.0%})" if known else ""
    return f"{sum(known)} of {len(known)}{share}"


def table(found):
    healthy = [one for one in found if one["true"]["class"] == "compute"]
    off = [abs(one["off"]) for one in found if one["within"] is not None]
    lines = ["| capture alone | |", "|---|---|",
             f"| class right | {counted(one['class_right'] for one in found)} |",
             f"| healthy, but an alarm | "
             f"{counted(one['told']['class'] not in ('compute', 'unknown') for one in healthy)} |",
             f"| lost time within 20 % | {counted(one['within'] for one in found)} |",
             f"| lost time off, median | {statistics.median(off):.1%} |" if off else "",
             "", "| play | true | told | lost, ms | told | confidence | a step, ms | told |",
             "|---|---|---|---|---|---|---|---|"]
    for one in found:
        lost, step = one["lost"] or {}, one["step_ms"]
        lines.append(" | ".join([f"| {one['name']}", one["true"]["class"],
                                 f"{one['told']['class']} {one['told']['cause'] or ''}",
                                 number(lost.get("true")), number(one["told"]["lost_ms"]),
                                 str(one["told"]["confidence"]), number(step["true"]),
                                 f"{number(step['told'])} |"]))
    return "\n".join(lines) + "\n"


def number(value):
    return "–" if value is None else f"{value:.1f}"


def main():
    asked = arguments()
    if not asked.diagnose_only:
        play(asked)
    if asked.play_only:
        return 0
    cases, _ = recordings.below(asked.diagnose_only or asked.out)
    left_out = [case for case in cases if case.why_no_scenario()]
    for case in left_out:
        say(f"left out: {case.name}: {case.why_no_scenario()}")
    found = [judged(asked, case) for case in cases if case not in left_out]
    asked.report.parent.mkdir(parents=True, exist_ok=True)
    asked.report.write_text(json.dumps({"schema": "chokepoint.bench.capture-alone/1",
                                        "judgements": found}, indent=1) + "\n")
    asked.report.with_suffix(".md").write_text(table(found))
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
