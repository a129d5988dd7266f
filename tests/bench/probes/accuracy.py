"""Goodput through a token bucket, against the truth: what the counters of the receiving interface
say, less the headers, over the time from the first bytes to the last. They are sampled every few
milliseconds meanwhile. Beside it the rate in the midst of the test, which knows no beginning."""

import threading
import time

from bench import Failed, bench, say
from tools import Chokepoint, Iperf3, Nuttcp

RATES_MBPS = (100, 1000)
SECONDS = 5
MOST_OFF_PERCENT = 0.5
HEADER_BYTES = 14 + 20 + 32  # TCP with timestamps; once a buffer, however large that is
SAMPLE_SECONDS = 0.003
CONTROL_BYTES = 16_384  # what control connections say before and after the data
MIDST = (0.2, 0.9)


class Sampler(threading.Thread):
    """TCP payload that has come in at an end of a link, over time."""

    def __init__(self, end):
        super().__init__(daemon=True)
        self.end, self.samples, self.over = end, [], threading.Event()

    def run(self):
        while not self.over.is_set():
            counted = self.end.counters()
            payload = counted["received_bytes"] - counted["received_packets"] * HEADER_BYTES
            self.samples.append((time.monotonic(), payload))
            self.over.wait(SAMPLE_SECONDS)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

    def payload_bytes(self):
        return self.samples[-1][1] - self.samples[0][1]

    def mbps(self, low, high):
        """While what had come in grew from `low` to `high` bytes."""
        first = self.samples[0][1]
        inside = [(at, got) for at, got in self.samples if low <= got - first <= high]
        if len(inside) < 2:
            raise Failed("nothing came in while the link was sampled")
        (began, least), (ended, most) = inside[0], inside[-1]
        return (most - least) * 8 / (ended - began) / 1e6

    def whole_mbps(self):
        return self.mbps(CONTROL_BYTES, self.payload_bytes() - CONTROL_BYTES)

    def midst_mbps(self):
        total = self.payload_bytes()
        return self.mbps(MIDST[0] * total, MIDST[1] * total)


def ends(told):
    """What each end counted, where the document has it, and whether that is the same."""
    sent, received = told.get("sent_bytes"), told.get("received_bytes")
    return {"sent_bytes": sent, "received_bytes": received,
            "agree": None if sent is None else sent == received}


def one(tool, rate_mbps):
    with Sampler(tool.bench.link.b) as sampler:
        measured = tool.tcp(1, SECONDS)
    truth = sampler.whole_mbps()
    return {"rate_mbps": rate_mbps, "told_mbps": measured["mbps"], "truth_mbps": truth,
            "off_percent": 100 * (measured["mbps"] / truth - 1),
            "midst_mbps": sampler.midst_mbps(), "by_the_bucket_mbps": rate_mbps * 1448 / 1514,
            "interface_payload_bytes": sampler.payload_bytes(),
            "ends": ends(measured.get("told", {}))}


def accuracy(settings):
    found = {}
    for rate in RATES_MBPS:
        with bench(settings, rate_mbps=rate) as at:
            say(f"accuracy, through {rate} Mb/s")
            tools = [Iperf3(at), Nuttcp(at)]
            if at.has("probe", "tcp"):
                tools.insert(0, Chokepoint(at))
            for tool in tools:
                found.setdefault(tool.name, []).append(one(tool, rate))
    ours = found.get("chokepoint", [])
    return {"tools": found, "wanted_percent": MOST_OFF_PERCENT,
            "met": bool(ours) and all(abs(rate["off_percent"]) <= MOST_OFF_PERCENT
                                      and rate["ends"]["agree"] for rate in ours)}
