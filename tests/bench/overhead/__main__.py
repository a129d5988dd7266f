"""usage: overhead [--pairs N] [--steps N] [--rate-mbps R] [--out FILE] CHOKEPOINT
                [trainer|ddp|compute|nccl]…

What watching costs a job: two ranks, a host each, with and without `chokepoint run` on both, in turn.
They train by Gloo, or (nccl) call the profiler plugin as NCCL would. Prints the ratio of their step
times, and what the watcher took of a core and of memory; FILE gets the document with every trial.
"""

import argparse
import os
import pathlib
import sys

for folder in ("probes", "../lab"):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / folder))

import jobs  # noqa: E402
import paired  # noqa: E402
import parts  # noqa: E402
import trial  # noqa: E402
from bench import say  # noqa: E402
from lab import Lab  # noqa: E402

BOTH_ORDERS = ((False, True), (True, False))


def arguments():
    parser = argparse.ArgumentParser(prog="overhead",
                                     usage=__doc__.split("\n\n")[0][len("usage: "):])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rate-mbps", type=float, default=1000)
    parser.add_argument("--out", default="overhead.json")
    return parts.asked_for(parser, jobs.JOBS)


def measure(name, asked):
    """Pairs of trials, one watched and one alone, beginning with the other one each time."""
    pairs = []
    with Lab([pathlib.Path(asked.chokepoint).parent]) as lab:
        stage = trial.Stage(lab, asked.rate_mbps, asked.chokepoint)
        for number in range(asked.pairs):
            pair = {is_watched: stage.play(jobs.JOBS[name], asked.steps, is_watched)
                    for is_watched in BOTH_ORDERS[number % 2]}
            pairs.append({"alone": pair[False], "watched": pair[True]})
            say(f"  {name}, pair {number + 1}: alone {pair[False]['step_ms']:.2f} ms a step, "
                f"watched {pair[True]['step_ms']:.2f} ms")
    return {"pairs": pairs, "step_ratio": paired.ratio(pairs, "step_ms"), **costs(pairs)}


def costs(pairs):
    watched = [host for pair in pairs for host in pair["watched"]["hosts"].values()]
    threads = {name for host in watched for name in host["threads_percent"]}
    return {**{name: paired.spread([host[name] for host in watched])
               for name in ("core_percent", "running_percent", "core_percent_by_record",
                            "memory_mb", "record_mb")},
            "threads_percent": {name: paired.spread([host["threads_percent"].get(name, 0)
                                                     for host in watched]) for name in threads}}


def table(name, part):
    found = part["step_ratio"]
    return "\n".join([
        f"{name}: a step watched over a step alone {found['median']:.4f} "
        f"({found['low']:.4f} to {found['high']:.4f}, {found['confidence']:.0%} of "
        f"{found['count']} pairs); alone {found['alone']:.2f} ms",
        *(f"  {what}: median {part[key]['median']:.2f}, most {part[key]['max']:.2f}"
          for what, key in (("% of a core, by /proc", "core_percent"),
                            ("% of a core, once set up", "running_percent"),
                            ("% of a core, by chokepoint.cpu_ns", "core_percent_by_record"),
                            ("most memory, MB", "memory_mb"), ("record, MB", "record_mb"))),
        "  % of a core once set up, by thread:",
        *(f"    {thread}: {spent['median']:.2f}" for thread, spent in
          sorted(part["threads_percent"].items(), key=lambda item: -item[1]["median"]))])


def main():
    asked = arguments()
    machine = {"kernel": os.uname().release, "processors": os.cpu_count(),
               "load": os.getloadavg()[0], "rate_mbps": asked.rate_mbps}
    document = parts.measured("chokepoint.bench.overhead/1", machine, asked.parts or jobs.JOBS,
                              lambda name: measure(name, asked), asked.out)
    for name, part in document["parts"].items():
        print(table(name, part))
    return 1 if document.get("without") else 0


if __name__ == "__main__":
    sys.exit(main())
