"""usage: rdma [--pairs N] [--twin] [--out FILE] CHOKEPOINT [counted|wire]…

chokepoint's verbs beside perftest's, in turn, in virtual machines with Soft-RoCE:

  counted  one machine whose clock counts its instructions, to itself: the same work takes the same
           time there, whatever else this host does. Bandwidth, and latency of reads and atomics; who
           waits for the other one by spinning needs a processor of its own, and so a wire
  wire     two machines, in real time: everything, as steady as this host is

--twin has perftest in chokepoint's place: what can be told apart at all. Prints tables of medians,
their ratio and the spread; FILE gets the document with every trial.
"""

import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE.parent / "probes", HERE.parents[1] / "lab", HERE.parents[1] / "vm"):
    sys.path.insert(1, str(folder))

import parts  # noqa: E402
import report  # noqa: E402
import stages  # noqa: E402
import trials  # noqa: E402
from pair import Machines  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(prog="rdma", usage=__doc__.split("\n\n")[0][len("usage: "):])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--twin", action="store_true")
    parser.add_argument("--out", default="rdma.json")
    return parts.asked_for(parser, stages.STAGES)


def measure(name, asked):
    with Machines([pathlib.Path(asked.chokepoint).parent]) as machines:
        stage = stages.STAGES[name]
        client, server = stage.machines(machines)
        tools = trials.twins(client, server) if asked.twin else trials.rivals(client, server)
        return [trials.row(tools, work, asked.pairs) for work in stage.works]


def main():
    asked = arguments()
    machine = {"kernel": os.uname().release, "processors": os.cpu_count(),
               "load": os.getloadavg()[0]}
    document = parts.measured("chokepoint.bench.rdma/1", machine, asked.parts or stages.STAGES,
                              lambda name: measure(name, asked), asked.out)
    for name, rows in document["parts"].items():
        print(f"{name}\n{table(rows)}\n")
    missed = [row for rows in document["parts"].values() for row in rows if not row["met"]]
    return 1 if document.get("without") or missed else 0


def table(rows):
    first, second = rows[0]["tools"]
    heads = ["", "bytes", "unit", first, "spread %", second, "spread %", "ratio", "wanted"]
    return report.table(heads, [cells(row, (first, second)) for row in rows])


def cells(row, names):
    shown = [f"{row['tools'][name][what]:{form}}" for name in names
             for what, form in (("median", ",.2f"), ("spread_percent", ".1f"))]
    return [row["what"], str(row["bytes"]), row["unit"], *shown, f"{row['ratio']:.3f}",
            f"± {row['wanted_percent']} %" + ("" if row["met"] else " missed")]


if __name__ == "__main__":
    sys.exit(main())
