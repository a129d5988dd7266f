"""usage: outer_steps [--seed N] [--jobs N] [--out DIR] [--report FILE.json] CHOKEPOINT
       outer_steps --predict-only --out DIR CHOKEPOINT

How near `chokepoint predict --from RUN --outer-every H` comes. For each of the jobs that the seed
draws (model, batch, computing, rate of the link) local SGD is played with an exchange in every 2nd,
4th, 8th and 16th step; from the record with 4 the mean step with 2, 8 and 16 is predicted and held
against what these jobs printed, over whole rounds. Prints a line for each pair and the errors;
FILE.json has all of them. Nothing fails by what is measured.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).parents[2] / "lab"))

import kept  # noqa: E402
import scenario  # noqa: E402

KNOWN = 4
EVERY = (2, 4, 8, 16)
WHOLE_ROUNDS = 4  # at least, after the first
MOST_SECONDS = 40


def arguments():
    parser = argparse.ArgumentParser(prog="outer_steps", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--predict-only", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/bench/outer_steps"))
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("chokepoint", type=pathlib.Path)
    return parser.parse_args()


def drawn(asked):
    draw = random.Random(asked.seed)
    for number in range(asked.jobs):
        yield {"name": f"job-{number + 1}", "rate_mbps": round(10 ** draw.uniform(2, 3)),
               "width": draw.randrange(300, 900, 50), "depth": draw.randint(2, 5),
               "batch": draw.choice((16, 32, 64)), "compute_ms": draw.randrange(20, 90, 5)}


def seconds(job, every):
    """Enough for some rounds: an exchange of two ranks sends each parameter once, of four bytes."""
    bytes_each = 4 * job["width"] * (job["width"] + 1) * (job["depth"] + 1)
    exchange_s = bytes_each * 8 / job["rate_mbps"] / 1e6
    round_s = every * job["compute_ms"] / 1000 * 1.5 + exchange_s
    return min(MOST_SECONDS, round(5 + (WHOLE_ROUNDS + 2) * round_s))


def scenario_of(job, every):
    link = {"name": "lan", "between": ["a", "b"], "there": {"rate_mbps": job["rate_mbps"]}}
    return scenario.made(f"{job['name']}-every-{every}", {
        "about": "local SGD, drawn", "topology": {"hosts": ["a", "b"], "links": [link]},
        "job": {"program": "shapes", "shape": "local-sgd", "every": every,
                "seconds": seconds(job, every),
                **{key: job[key] for key in ("width", "depth", "batch", "compute_ms")}},
        "truth": {"class": "compute"}, "expected": {"step_ms": [1, 1e6]}})


def place_of(asked, job, every):
    return asked.out / job["name"] / f"every-{every}"


def play(asked, job):
    for every in EVERY:
        folder = place_of(asked, job, every)
        if not (folder / "truth.json").exists():
            kept.play(scenario_of(job, every), folder, asked.chokepoint.resolve().parent)


def measured_ms(asked, job, every):
    """The mean step over whole rounds, without the first."""
    steps = json.loads((place_of(asked, job, every) / "truth.json").read_text())["steps_ms"]
    rounds = len(steps) // every - 1
    return statistics.mean(steps[every:every * (rounds + 1)]) if rounds > 0 else None


def predicted_ms(asked, job, every):
    told = subprocess.run([asked.chokepoint, "predict", "--from",
                           place_of(asked, job, KNOWN) / "records", "--outer-every", str(every),
                           "--json"], capture_output=True, text=True, check=False)
    if told.returncode:
        print(told.stderr, file=sys.stderr)
        return None
    return json.loads(told.stdout)["step_ms"]


def pairs_of(asked, job):
    for every in EVERY:
        true = measured_ms(asked, job, every)
        if every != KNOWN and true:
            told = predicted_ms(asked, job, every)
            yield {**job, "every": every, "known_ms": measured_ms(asked, job, KNOWN),
                   "true_ms": true, "told_ms": told, "off": told and (told - true) / true}


def shown(pair):
    told = "nothing" if pair["told_ms"] is None else f"{pair['told_ms']:.1f}, {pair['off']:+.1%}"
    return (f"{pair['name']:7} {pair['rate_mbps']:5} Mb/s {pair['width']}x{pair['depth']} every "
            f"{pair['every']:2}: {pair['true_ms']:.1f} ms, predicted {told} (every {KNOWN}: "
            f"{pair['known_ms']:.1f} ms)")


def main():
    asked = arguments()
    pairs = []
    for job in drawn(asked):
        if not asked.predict_only:
            play(asked, job)
        for pair in pairs_of(asked, job):
            pairs.append(pair)
            print(shown(pair), flush=True)
    off = sorted(abs(pair["off"]) for pair in pairs if pair["off"] is not None)
    if off:
        print(f"{len(off)} of {len(pairs)} pairs predicted; error {statistics.median(off):.1%} in the "
              f"median, {off[int(0.9 * (len(off) - 1) + 0.5)]:.1%} at 90 %, {off[-1]:.1%} at most")
    if asked.report:
        asked.report.write_text(json.dumps({"seed": asked.seed, "pairs": pairs}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
