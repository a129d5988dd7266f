"""usage: capture [--pairs N] [--record] [--out FILE] CHOKEPOINT [reading|flows|live]…

chokepoint capture beside tcptrace, tshark and tcpdump: reading a file of two million packets, a
million flows of a packet each, and watching an interface. Prints tables, with the factor by which each
ratio of reading moved since it was recorded last; --record appends those of now to ratios.csv beside this.
FILE gets the document.
"""

import argparse
import dataclasses
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "probes"))

import files  # noqa: E402
import history  # noqa: E402
import live  # noqa: E402
import offline  # noqa: E402
import parts  # noqa: E402
import tables  # noqa: E402
from bench import text_of  # noqa: E402

PARTS = {"reading": offline.reading, "flows": offline.flows, "live": live.live}


@dataclasses.dataclass
class Settings:
    chokepoint: str
    pairs: int
    folder: pathlib.Path


def arguments():
    parser = argparse.ArgumentParser(prog="capture",
                                     usage=__doc__.split("\n\n")[0][len("usage: "):])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--out", default="capture.json")
    parser.add_argument("--record", action="store_true")
    return parts.asked_for(parser, PARTS)


def machine():
    def first_line(command):
        return text_of(command).split("\n")[0]
    return {"kernel": os.uname().release, "processors": os.cpu_count(), "load": os.getloadavg()[0],
            "versions": {"tshark": first_line(["tshark", "--version"]),
                         "tcpdump": first_line(["tcpdump", "--version"]),
                         "iperf3": first_line(["iperf3", "--version"])}}


def main():
    asked = arguments()
    settings = Settings(asked.chokepoint, asked.pairs, files.folder_beside(asked.out))
    document = parts.measured("chokepoint.bench.capture/1", machine(), asked.parts or PARTS,
                              lambda name: PARTS[name](settings), asked.out)
    if reading := document["parts"].get("reading"):
        history.with_moves(reading["ratios"])
    print(tables.tables(document))
    if reading and asked.record:
        history.record(reading["ratios"])
    return 1 if document.get("without") else 0


if __name__ == "__main__":
    sys.exit(main())
