"""usage: collective [--pairs N] [--out FILE] --plain PLAIN_GLOO CHOKEPOINT [PART]…

All-reduce by 'chokepoint probe collective' and by libgloo in a plain loop, in turn, between two
network namespaces: over 1 and 10 Gb/s, and over 15 ms. Prints tables; FILE gets the document.
"""

import argparse
import math
import os
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "probes"))

import parts  # noqa: E402
import report  # noqa: E402
from bench import alternate, say, spread  # noqa: E402
import ranks  # noqa: E402
from lab import Lab, Way  # noqa: E402

MIB = 1 << 20
# Of a frame of 1514 bytes, with time stamps.
GOODPUT = 1448 / 1514
WITHIN = 0.03
RTT_MS = 15
FAR_MBPS = 5000


def joined(lab, rate_mbps):
    link = lab.link(lab.host("left"), lab.host("right"), rate_mbps)
    return [link.a, link.b]


def apart(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.path(left, right, Way(delay_ms=RTT_MS / 2, rate_mbps=FAR_MBPS))
    for host in (left, right):
        host.sysctls({"net.ipv4.tcp_rmem": "4096 33554432 67108864",
                      "net.ipv4.tcp_wmem": "4096 33554432 67108864"})
    return [link.a, link.b]


def credit_mbps(size_bytes):
    """Of two ranks, by the model of analysis/predict/exchange_time.h: segments go in pairs, and the
    next pair waits for a round trip."""
    segments = max(math.ceil(size_bytes / MIB), 4)
    segments += segments % 2
    serial_ms = size_bytes / segments * 8 / (FAR_MBPS * GOODPUT * 1000)
    each_way = segments // 2
    phase_ms = math.ceil(each_way / 2) * RTT_MS + each_way * serial_ms
    return size_bytes * 8 / (2 * phase_ms * 1000)


# Name: hosts, bytes, iterations, what bounds it in Mb/s
PARTS = {
    "1gbps": (lambda lab: joined(lab, 1000), 32 * MIB, 8, 1000 * GOODPUT),
    "10gbps": (lambda lab: joined(lab, 10000), 64 * MIB, 20, 10000 * GOODPUT),
    "15ms": (apart, 16 * MIB, 15, credit_mbps(16 * MIB)),
    "15ms-1mib": (apart, MIB, 30, credit_mbps(MIB)),
}


class Ours:
    name = "chokepoint"

    def run(self, ends, size_bytes, iterations, _):
        told = ranks.measured(ends, "--bytes", size_bytes, "--iterations", iterations, "--no-check")
        return told["sizes"][0]["busbw_mbps"]


class Plain:
    name = "plain libgloo"

    def run(self, ends, size_bytes, iterations, program):
        times = ranks.plainly(ends, program, size_bytes, iterations)
        return size_bytes * 8 / statistics.mean(times)


def compared(name, asked):
    make, size_bytes, iterations, bound = PARTS[name]
    with Lab([pathlib.Path(asked.chokepoint).parent]) as lab:
        ends = make(lab)
        say(f"{name}, {asked.pairs} rounds of {iterations} all-reduces of {size_bytes} bytes")
        trials = alternate([Ours(), Plain()], asked.pairs, lambda tool: {
            "mbps": tool.run(ends, size_bytes, iterations, asked.plain)})
    ours, plain = ([one["mbps"] for one in trials[tool.name]] for tool in (Ours, Plain))
    pairs = spread([a / b for a, b in zip(ours, plain)])
    share = statistics.median(ours) / bound
    return {"bytes": size_bytes, "iterations": iterations, "bound_mbps": bound,
            "tools": {name: {**spread([one["mbps"] for one in rounds]), "rounds": rounds}
                      for name, rounds in trials.items()},
            "of_plain": {**pairs, "met": abs(pairs["median"] - 1) <= WITHIN},
            "of_bound": {"median": share, "met": abs(share - 1) <= WITHIN}}


def verdict(found):
    return f"{found['median']:.3f} ({'met' if found['met'] else 'not met'})"


def table(document):
    rows = [[name, str(part["bytes"]), report.figure(part["bound_mbps"]),
             *(report.figure(part["tools"][tool.name]["median"], ",.1f") for tool in (Ours, Plain)),
             verdict(part["of_plain"]), verdict(part["of_bound"])]
            for name, part in document["parts"].items()]
    return report.table(["", "bytes", "bound Mb/s", "chokepoint", "plain libgloo", "of plain",
                         "of the bound"], rows)


def main():
    parser = argparse.ArgumentParser(prog="collective")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--out", default="collective.json")
    parser.add_argument("--plain", required=True)
    asked = parts.asked_for(parser, PARTS)
    asked.plain = os.path.abspath(asked.plain)
    machine = {"kernel": os.uname().release, "processors": os.cpu_count(),
               "load": os.getloadavg()[0]}
    document = parts.measured("chokepoint.bench.collective/1", machine, asked.parts or PARTS,
                              lambda name: compared(name, asked), asked.out)
    print(table(document))
    return 1 if document.get("without") else 0


if __name__ == "__main__":
    sys.exit(main())
