"""How evenly packets of one flow follow each other on a wire: their times and sizes from a capture,
held against the rate that was asked for.

A burst is what comes with no gap that the rate would leave; `bucket_bytes` is what a token bucket of
the rate has to hold to let everything pass undelayed.
"""

import contextlib
import dataclasses
import statistics
import struct
import time

from checks import between, near

HEADER = struct.Struct("<IHHiIII")
RECORD = struct.Struct("<IIII")
NANOSECONDS = 0xA1B23C4D
ETHERNET_BYTES = 14
IPV4_PROTOCOLS = {6: lambda segment: (segment[12] >> 4) * 4, 17: lambda _: 8}


@dataclasses.dataclass
class Spacing:
    packets: int
    rate_mbps: float        # of payload, from the first burst to the last
    bucket_bytes: float
    burst_bytes: float      # the median burst
    largest_burst_bytes: int
    gap_ms: float           # the median time between bursts
    gap_p99_ms: float


@contextlib.contextmanager
def captured(host, interface, protocol, file):
    """What the interface of a host of the lab, or of a virtual machine, gets meanwhile, with its
    kernel's times."""
    process = host.start(["tcpdump", "-i", interface, "-Q", "in", "-n", "-U", "-s", "96",
                          "-B", "16384", "--time-stamp-precision=nano", "-w", file, protocol])
    process.until(lambda: "listening on" in process.stderr(), 20, "tcpdump listens")
    yield
    time.sleep(0.5)  # for what the kernel has and tcpdump does not
    process.stop()


def payloads(file):
    """(seconds, bytes of payload) of each IPv4 packet that has any."""
    data = file.read_bytes()
    if HEADER.unpack_from(data)[0] != NANOSECONDS:
        raise ValueError(f"{file}: no capture with nanoseconds")
    at = HEADER.size
    while at + RECORD.size <= len(data):
        seconds, nanoseconds, kept, _ = RECORD.unpack_from(data, at)
        packet = data[at + RECORD.size + ETHERNET_BYTES:at + RECORD.size + kept]
        at += RECORD.size + kept
        header = (packet[0] & 15) * 4
        # Segments that the kernel has merged beyond 64 KiB have no length in their header.
        total = struct.unpack_from(">H", packet, 2)[0]
        payload = total - header - IPV4_PROTOCOLS[packet[9]](packet[header:])
        if payload > 0:
            yield seconds + nanoseconds / 1e9, payload


def bursts_of(packets, bytes_per_s):
    """(time, bytes) of packets that follow each other in less than half the time they take at the
    rate."""
    bursts = []
    last = None
    for at, size in packets:
        if last is not None and at - last[0] < 0.5 * last[1] / bytes_per_s:
            bursts[-1][1] += size
        else:
            bursts.append([at, size])
        last = at, size
    return bursts


def spacing(packets, rate_mbps, settle_s=0.2):
    """Without the start, in which a sender does not have its rate yet, and without short packets,
    which are words of a protocol about its data."""
    packets = list(packets)
    least = max(size for _, size in packets) / 100
    packets = [(at, size) for at, size in packets
               if at >= packets[0][0] + settle_s and size >= least]
    bytes_per_s = rate_mbps * 1e6 / 8
    level = bucket = 0.0
    last = packets[0][0]
    for at, size in packets:
        level = max(0.0, level - (at - last) * bytes_per_s) + size
        bucket, last = max(bucket, level), at
    bursts = bursts_of(packets, bytes_per_s)
    gaps = sorted(after[0] - before[0] for before, after in zip(bursts, bursts[1:]))
    passed = sum(size for _, size in bursts[:-1])
    return Spacing(len(packets), passed * 8 / (bursts[-1][0] - bursts[0][0]) / 1e6, bucket,
                   statistics.median(size for _, size in bursts), max(size for _, size in bursts),
                   statistics.median(gaps) * 1e3, gaps[int(0.99 * (len(gaps) - 1))] * 1e3)


def check_paced(packets, rate_mbps):
    """As TCP in the kernel paces: bursts of 64 KiB at most, each followed by the time that it takes
    at the rate. A machine that is busy with other work runs late now and then: TCP's timer
    does not make up for that, fq does for half of it."""
    found = spacing(packets, rate_mbps)
    between(found.rate_mbps, 0.75 * rate_mbps, 1.05 * rate_mbps, f"rate of {found}")
    between(found.burst_bytes, 1, 65_536, f"burst of {found}")
    near(found.gap_ms / 1e3 * rate_mbps * 1e6 / 8, found.burst_bytes, 0.25, f"gap of {found}")
