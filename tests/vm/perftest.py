"""The stock programs of perftest, run between two machines, and what they print."""

import re

from kernel import Failed

LISTENING_SECONDS = 30
ROW = re.compile(r"^ #bytes.*\n((?:\s*\d[^\n]*\n)+)", re.MULTILINE)
BANDWIDTH = ("bytes", "iterations", "peak_mib_s", "average_mib_s", "rate_mpps")
LATENCY = ("bytes", "iterations", "min_us", "max_us", "typical_us", "mean_us", "deviation_us",
           "p99_us", "p999_us")
MEGABITS_OF_A_MEBIBYTE = 8 * 1.048576  # what it calls MB is one; in Gb/s it prints two digits only
BY_TCP = ["ss", "-Hltn", "( sport = :18515 )"]
BY_RDMA_CM = ["rdma", "resource", "show", "cm_id", "state", "LISTEN"]


def run(client, server, program, *options, address=None, timeout=120):
    """What the client's last row says, by names, and average_mbps in 10^6 bit/s."""
    words = [program, *options]
    serving = server.start(words)
    by = BY_RDMA_CM if "-R" in words else BY_TCP
    serving.until(lambda: server.output(by), LISTENING_SECONDS, "listener")
    asked = client.run([*words, address or server.ipv4], timeout=timeout)
    if serving.wait(timeout) != 0:
        raise Failed(serving.told())
    return row(asked, program)


def is_bandwidth(program):
    return program.endswith("_bw")


def row(program, name):
    found = ROW.search(program.stdout())
    if not found:
        raise Failed(f"no row of figures: {program.told()}")
    figures = [float(word) for word in found[1].splitlines()[-1].split()]
    if not is_bandwidth(name):
        return dict(zip(LATENCY, figures))
    told = dict(zip(BANDWIDTH, figures))
    return {**told, "average_mbps": told["average_mib_s"] * MEGABITS_OF_A_MEBIBYTE}
