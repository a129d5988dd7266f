"""usage: probes [--pairs N] [--time SECONDS] [--realtime] [--out FILE] CHOKEPOINT [PART…]

Parts: tcp udp pacing accuracy.

chokepoint, nuttcp, iperf3 and iperf3 -Z side by side between two network namespaces joined by veth,
cubic for all. Prints tables; FILE gets the document. --realtime gives all of them the lowest real-time
priority: ratios then hold on a machine that others use, who stand still meanwhile.
"""

import argparse
import os
import pathlib
import sys

import accuracy
import pacing
import parts
import report
import throughput
from bench import Settings, text_of

PARTS = {"tcp": throughput.tcp, "udp": throughput.udp, "pacing": pacing.pacing,
         "accuracy": accuracy.accuracy}


def arguments():
    parser = argparse.ArgumentParser(prog="probes", usage=__doc__.split("\n\n")[0][len("usage: "):])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--time", type=int, default=5)
    parser.add_argument("--realtime", action="store_true")
    parser.add_argument("--out", default="probes.json")
    return parts.asked_for(parser, PARTS)


def machine():
    models = [line.split(":", 1)[1].strip()
              for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]
    return {"kernel": os.uname().release, "processor": models[0] if models else None,
            "processors": len(models), "load": os.getloadavg()[0],
            "realtime": os.sched_getscheduler(0) == os.SCHED_RR,
            "versions": {"iperf3": text_of(["iperf3", "--version"]).split("\n")[0],
                         "nuttcp": text_of(["nuttcp", "-V"])}}


def main():
    asked = arguments()
    settings = Settings(asked.chokepoint, asked.pairs, asked.time)
    if asked.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    document = parts.measured("chokepoint.bench.probes/1", machine(), asked.parts or PARTS,
                              lambda name: PARTS[name](settings), asked.out)
    print(report.tables(document))
    return 1 if document.get("without") else 0


if __name__ == "__main__":
    sys.exit(main())
