"""The tools in turn, and what is made of their trials."""

import statistics

import perftest
from bench import say

SERVER_PORT = 5210
TRIAL_SECONDS = 120


class Perftest:
    def __init__(self, client, server, name="perftest"):
        self.client, self.server, self.name = client, server, name

    def measure(self, work):
        size = () if work.operation == "atomic" else ("-s", work.bytes)
        told = perftest.run(self.client, self.server, f"ib_{work.operation}_{work.metric}", *size,
                            "-n", work.iterations, timeout=TRIAL_SECONDS)
        return told["average_mbps"] if work.metric == "bw" else told["typical_us"]


class Chokepoint:
    name = "chokepoint"

    def __init__(self, client, server):
        self.client, self.server = client, server
        server.serve(["chokepoint", "serve", "--insecure-open"], SERVER_PORT)

    def measure(self, work):
        size = () if work.operation == "atomic" else ("--bytes", work.bytes)
        told = self.client.json(
            ["chokepoint", "rdma", work.operation, work.metric, self.server.ipv4, *size,
             "--iterations", work.iterations, "--json"], timeout=TRIAL_SECONDS)
        return told["average_mbps"] if work.metric == "bw" else told["latency_us"]["median"]


def rivals(client, server):
    return [Perftest(client, server), Chokepoint(client, server)]


def twins(client, server):
    return [Perftest(client, server), Perftest(client, server, "itself")]


def row(tools, work, pairs):
    """Each pair of trials begins with the other tool: what changes meanwhile meets both."""
    found = {tool.name: [] for tool in tools}
    for turn in range(pairs):
        for tool in tools if turn % 2 == 0 else reversed(tools):
            found[tool.name].append(tool.measure(work))
    return summary(work, found)


def summary(work, found):
    medians = {name: statistics.median(values) for name, values in found.items()}
    theirs, ours = medians.values()
    ratio = ours / theirs
    what = f"{work.operation} {work.metric}"
    say(f"  {what} {work.bytes}: {theirs:.2f} and {ours:.2f}, ratio {ratio:.3f}")
    return {"what": what, "bytes": work.bytes, "iterations": work.iterations,
            "unit": "Mb/s" if work.metric == "bw" else "µs", "ratio": ratio,
            "wanted_percent": work.wanted_percent,
            "met": abs(ratio - 1) * 100 <= work.wanted_percent,
            "tools": {name: {"median": medians[name], "trials": values,
                             "spread_percent": 100 * (max(values) - min(values)) / medians[name]}
                      for name, values in found.items()}}
