"""Watching an interface: what one core can send, and what watching costs beside tcpdump."""

import json
import os
import pathlib
import statistics
import time

import measured
from bench import Failed, Lab, say, spread

SECONDS = 8
# By then the ring is set up, which is done once and costs as much as its pages take to be cleared.
SET_UP_SECONDS = 1
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MOST_ROUNDS = 5
MOST_CORE_PERCENT = 5
SMALL_BYTES, SEGMENTS = 18, 64

# Small datagrams by the kernel's segmentation: a system call for 64 of them, each a frame of its
# own, since the device has no offloads.
FLOOD = """
import socket, sys, time
UDP_SEGMENT = 103
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, {size})
sender.connect((sys.argv[1], 9))
batch, end = bytes({size} * {segments}), time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    for _ in range(100):
        try:
            sender.send(batch)
        except OSError:
            pass
""".format(size=SMALL_BYTES, segments=SEGMENTS)


class Stage:
    """Two hosts at work; the left one sends, and is watched."""

    def __init__(self, lab, settings, rate_mbps=None, offloads=True):
        self.settings = settings
        self.left, self.right = lab.host("left"), lab.host("right")
        self.link = lab.link(self.left, self.right, rate_mbps)
        self.link.offload(offloads)
        self.right.serve(["iperf3", "-s"], port=5201)

    def streams(self, seconds):
        return self.left.start(["iperf3", "-c", self.link.b.ipv4, "-t", seconds, "-P", 2])

    def flood(self, seconds):
        return self.left.start(["python3", "-c", FLOOD, self.link.b.ipv4, seconds])

    def passed(self):
        """Frames the interface has sent and received."""
        told = self.link.a.counters()
        return told["sent_packets"] + told["received_packets"]

    def chokepoint(self):
        process = self.left.start([self.settings.chokepoint, "capture", "-i",
                                   self.link.a.interface, "--time", SECONDS, "--json"])
        cost, passed = self.watched(process)
        told = json.loads(process.stdout())
        return {**cost, "passed": passed, "seen": told["frames"],
                "dropped": told["dropped"]["kernel"]}

    def tcpdump(self):
        file = self.left.folder / "dump.pcap"
        process = self.left.start(["tcpdump", "-i", self.link.a.interface, "-s", 128, "-Z", "root",
                                   "-G", SECONDS, "-W", 1, "-w", file])
        cost, passed = self.watched(process)
        file.unlink()
        return {**cost, "passed": passed, "seen": number_before(process, "packets captured"),
                "dropped": number_before(process, "packets dropped by kernel")}

    def watched(self, process):
        """Its cost, and what passed the interface until it ended."""
        began, before = time.monotonic(), self.passed()
        time.sleep(SET_UP_SECONDS)
        set_up_s = processor_seconds(process.popen.pid)
        cost = measured.ended(process.popen, began)
        passed = self.passed() - before
        running = (cost.cpu_s - set_up_s) / (cost.seconds - SET_UP_SECONDS)
        return {"core_percent": round(100 * cost.cpu_s / cost.seconds, 2),
                "running_percent": round(100 * running, 2),
                "seconds": round(cost.seconds, 3), "memory_mb": round(cost.memory_mb, 1)}, passed


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def number_before(process, words):
    for line in process.stderr().splitlines():
        if line.endswith(words):
            return int(line.split()[0])
    raise Failed(process.told())


def side_by_side(settings, traffic, **link):
    rounds = {"chokepoint": [], "tcpdump": []}
    with Lab([pathlib.Path(settings.chokepoint).parent]) as lab:
        lab.needs("iperf3", "tcpdump")
        stage = Stage(lab, settings, **link)
        for turn in range(min(settings.pairs, MOST_ROUNDS)):
            for name in sorted(rounds, reverse=turn % 2 == 1):
                sender = getattr(stage, traffic)(SECONDS + 2)
                time.sleep(0.5)
                rounds[name].append(getattr(stage, name)())
                sender.kill()
                say(f"  round {turn + 1}, {name}: {rounds[name][-1]}")
    return {"tools": {name: summary(found) for name, found in rounds.items()},
            "cpu_beside_tcpdump": beside(rounds, "core_percent"),
            "running_beside_tcpdump": beside(rounds, "running_percent"),
            "rounds": rounds}


def beside(rounds, figure):
    return spread([mine[figure] / max(theirs[figure], 0.01)
                   for mine, theirs in zip(rounds["chokepoint"], rounds["tcpdump"])])


def summary(rounds):
    return {"packets_per_s": round(statistics.median(one["passed"] / one["seconds"]
                                                     for one in rounds)),
            "seen_per_s": round(statistics.median(one["seen"] / one["seconds"] for one in rounds)),
            "dropped": sum(one["dropped"] for one in rounds),
            "dropped_percent": round(100 * sum(one["dropped"] for one in rounds)
                                     / max(1, sum(one["passed"] for one in rounds)), 4),
            "core_percent": statistics.median(one["core_percent"] for one in rounds),
            "running_percent": statistics.median(one["running_percent"] for one in rounds),
            "memory_mb": max(one["memory_mb"] for one in rounds)}


def live(settings):
    parts = {"TCP, full size, offloads off": dict(traffic="streams", offloads=False),
             "UDP, small, offloads off": dict(traffic="flood", offloads=False),
             "TCP, 10 Gb/s, offloads on": dict(traffic="streams", rate_mbps=10_000)}
    found = {}
    for name, how in parts.items():
        say(name)
        found[name] = side_by_side(settings, **how)
    busy = found["TCP, 10 Gb/s, offloads on"]
    most = busy["tools"]["chokepoint"]["core_percent"]
    return {"parts": found, "met": {
        "no drop": all(part["tools"]["chokepoint"]["dropped"] == 0 for part in found.values()),
        f"less than {MOST_CORE_PERCENT} % of a core at 10 Gb/s": most < MOST_CORE_PERCENT,
        "at most tcpdump's processor time, set-up included": all(
            part["cpu_beside_tcpdump"]["median"] <= 1 for part in found.values()),
        "at most tcpdump's processor time once set up": all(
            part["running_beside_tcpdump"]["median"] <= 1 for part in found.values())}}
