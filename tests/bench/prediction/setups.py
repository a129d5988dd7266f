"""Jobs, each at several rates, round trips and numbers of ranks. Any two that differ in one of
these are a pair: from a run of the one, the other is predicted."""

import dataclasses
import itertools

import scenario

SECONDS = 6
JOBS = {
    "dp": {"program": "trainer", "pattern": "dp", "bytes": 8_000_000, "compute_ms": 60},
    "dp-late-buckets": {"program": "trainer", "pattern": "dp", "bytes": 6_000_000, "pieces": 12,
                        "compute_ms": 120},
    "tp": {"program": "trainer", "pattern": "tp", "bytes": 256_000, "pieces": 4,
           "compute_ms": 80},
    "pp": {"program": "trainer", "pattern": "pp", "bytes": 8_000_000, "pieces": 8,
           "compute_ms": 60},
    "ddp": {"program": "ddp", "width": 1024, "depth": 2, "batch": 16},
}
RATES = {"dp": (10000, 2000, 1000, 500, 200), "dp-late-buckets": (10000, 500, 200),
         "tp": (10000, 1000, 300), "pp": (10000, 1000, 500), "ddp": (10000, 1000, 500)}
ROUND_TRIPS = {"dp": (0, 4, 15, 30), "tp": (0, 2, 15, 30), "pp": (0, 10, 30), "ddp": (0, 8, 20)}
RANKS = {"dp": (2, 3, 4), "dp-late-buckets": (2, 3, 4), "tp": (2, 3, 4)}
RANKS_RATE = 500  # of whom the number of ranks is varied
FASTEST = 10000
HOSTS = "abcdefgh"


@dataclasses.dataclass(frozen=True)
class Setup:
    job: str
    rate_mbps: int = FASTEST
    rtt_ms: float = 0  # more than what the hosts take
    ranks: int = 2

    @property
    def name(self):
        return f"{self.job}-{self.rate_mbps}mbps-{self.rtt_ms}ms-{self.ranks}"

    def scenario(self):
        """Two hosts are joined by a link; more meet at a switch."""
        hosts = list(HOSTS[:self.ranks])
        topology = {"hosts": hosts, "links": [self.link("a", "b")]} if self.ranks == 2 else {
            "hosts": [*hosts, "switch"], "switch": "switch",
            "links": [self.link(host, "switch") for host in hosts]}
        return scenario.made(self.name, {
            "about": "one of several that differ by their links", "topology": topology,
            "job": {**JOBS[self.job], "seconds": SECONDS}, "truth": {"class": "compute"},
            "expected": {}})

    def link(self, a, b):
        delay = {"delay_ms": self.rtt_ms / 2} if self.rtt_ms else {}
        return {"name": f"{a}-{b}", "between": [a, b],
                "there": {"rate_mbps": self.rate_mbps, **delay}}

    def words_from(self, other):
        """How a prediction of this one is asked for, of a run of the other: by what differs."""
        words = ["--link", f"{self.rate_mbps}M"] if self.rate_mbps != other.rate_mbps else []
        words += ["--rtt", f"{self.rtt_ms}ms"] if self.rtt_ms != other.rtt_ms else []
        return words + (["--nodes", str(self.ranks)] if self.ranks != other.ranks else [])


def groups():
    """{what is varied: [setups of a job that differ in it alone, …]}"""
    return {
        "rate": [[Setup(job, rate_mbps=rate) for rate in rates] for job, rates in RATES.items()],
        "delay": [[Setup(job, rtt_ms=rtt) for rtt in rtts] for job, rtts in ROUND_TRIPS.items()],
        "ranks": [[Setup(job, RANKS_RATE, ranks=ranks) for ranks in numbers]
                  for job, numbers in RANKS.items()]}


def every():
    return list(dict.fromkeys(setup for of_kind in groups().values() for group in of_kind
                              for setup in group))


def pairs():
    """(what is varied, from, to)"""
    for kind, of_kind in groups().items():
        for group in of_kind:
            for known, wanted in itertools.permutations(group, 2):
                yield kind, known, wanted
