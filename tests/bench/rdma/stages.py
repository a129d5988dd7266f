"""Where verbs are measured, and what: sizes, and counts that take a second or so there."""

import dataclasses
import typing

BANDWIDTH_PERCENT = 3
LATENCY_PERCENT = 5


@dataclasses.dataclass(frozen=True)
class Work:
    operation: str
    metric: str  # bw or lat
    bytes: int
    iterations: int

    @property
    def wanted_percent(self):
        return BANDWIDTH_PERCENT if self.metric == "bw" else LATENCY_PERCENT


@dataclasses.dataclass(frozen=True)
class Stage:
    machines: typing.Callable  # client and server, made of Machines
    works: tuple


def bandwidths(counts):
    return tuple(Work(operation, "bw", size, count) for operation in ("write", "read", "send")
                 for size, count in counts.items())


def latencies(operations, count):
    """What a message holds is little beside what it costs: eight bytes, as an atomic has."""
    return tuple(Work(operation, "lat", 8, count) for operation in operations)


def alone(machines):
    made = machines.alone(counts_instructions=True)
    return made, made


def apart(machines):
    return machines.pair()


STAGES = {
    "counted": Stage(alone, bandwidths({4096: 3000, 65536: 500, 1 << 20: 40})
                     + latencies(("read", "atomic"), 1000)),
    "wire": Stage(apart, bandwidths({4096: 10000, 65536: 1000, 1 << 20: 80})
                  + latencies(("write", "send", "read"), 2000)),
}
