"""Hostile peers of one `chokepoint serve`, while a client that has the key repeats small probes
from another host: these must succeed and be as fast as without the hostile ones, and the server must
stay as small as it was.

Rounds of calm and of siege alternate. Hostile peers come at a bounded rate, and the client's link has
a rate, because all of it runs on the same few processors: what is held against the calm is the
server, not who gets the processors.
"""

import collections
import dataclasses
import json
import os
import pathlib
import random
import statistics
import threading
import time

import strangers
from checks import holds, soon
from hostile_kinds import KINDS, Visitor
from kernel import Failed
from served import PORT, Served

KEY = b"k" * 40
CLIENT_MBPS = 200
ROUND_PEERS = 25
PEERS_PER_S = 8
AT_ONCE = 8
SOURCES = 4
SUCCESS, NEAR = 0.99, 0.10
LOOK_S = 0.2
CALM_S = 3  # until nothing of the server's first clients is left
SETTLED_S = 20  # a client that asked for a test and does nothing is waited for, for 15 s
# What a server may grow by: places and sessions of strangers and clients, tests' buffers.
MOST_GROWTH_MB = 64
PROBES = (("tcp", ("--time", "700ms", "--share")), ("latency", ("--idle-only", "--idle", "300ms")))
PROBES_A_ROUND = 3


@dataclasses.dataclass
class Arena:
    """What hostile peers know of the server."""
    host: object
    address: str
    port: int
    sources: list
    nobody: str  # an address of their network that nobody has
    key: bytes
    key_file: pathlib.Path
    recorded: list = dataclasses.field(default_factory=list)

    def client_through(self, port):
        """A client that has the key, and a host in between that it does not know of."""
        return self.host.start(["chokepoint", "probe", "tcp", f"127.0.0.1:{port}", "--bytes", "64K",
                                "--share", "--key-file", self.key_file])


class Besieged:
    def __init__(self, lab):
        key_file = lab.folder / "key"
        key_file.write_bytes(KEY)
        key_file.chmod(0o600)
        words = ["--key-file", key_file]
        self.server = Served(lab, words, words)
        for end in (self.server.link.a, self.server.link.b):
            end.limit(CLIENT_MBPS)
        hostile = lab.host("hostile")
        link = lab.link(hostile, self.server.host)
        network = link.a.ipv4.rpartition(".")[0]
        sources = [f"{network}.{100 + number}" for number in range(SOURCES)]
        for source in sources:
            hostile.ip("address", "add", f"{source}/24", "dev", link.a.interface)
        self.arena = Arena(hostile, link.b.ipv4, PORT, sources, f"{network}.99", KEY, key_file)
        self.arena.recorded = self.recorded()
        time.sleep(CALM_S)
        self.before = self.server.footprint()
        self.visits, self.growth = [], Growth(self.server.process.pid)

    def recorded(self):
        """What a client of this server said, on each of its connections."""
        recorder = strangers.Recorder(self.arena.host, self.arena.address, PORT)
        self.arena.client_through(recorder.port).wait(30)
        recorder.close()
        return [bytes(said) for said in recorder.said]

    def probed(self):
        """One after the other, each of the client's probes."""
        found = []
        for _ in range(PROBES_A_ROUND):
            for kind, words in PROBES:
                began = time.monotonic()
                done = self.server.client.start(
                    ["chokepoint", "probe", kind, self.server.address, "--json",
                     *self.server.client_words, *words])
                status = done.wait(60)
                found.append({"kind": kind, "status": status, "seconds": time.monotonic() - began,
                              "mbps": mbps_of(done) if status == 0 and kind == "tcp" else None,
                              "said": done.stderr().strip() if status else None})
        return found

    def round(self, kinds, chance):
        calm = self.probed()
        siege = Siege(self.arena, kinds, chance)
        siege.start()
        besieged = self.probed()
        self.visits += siege.end()
        return {"calm": calm, "besieged": besieged}

    def end(self):
        """The complaint where the server does not get as small again as it was."""
        holds(self.server.process.running(), f"the server ended: {self.server.process.told()}")
        soon(self.is_small_again, SETTLED_S,
             f"{self.server.footprint()} instead of {self.before} at the end")

    def is_small_again(self):
        now = self.server.footprint()
        return all(now[what] <= self.before[what] for what in now)


def mbps_of(done):
    return json.loads(done.stdout())["throughput_mbps"]


class Siege:
    """So many visits at a time, begun at a bounded rate."""

    def __init__(self, arena, kinds, chance):
        self.arena, self.kinds, self.chance = arena, list(kinds), chance
        self.lock, self.found = threading.Lock(), []
        self.due = time.monotonic()
        self.threads = [threading.Thread(target=self.visit_on) for _ in range(AT_ONCE)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def next(self):
        with self.lock:
            if not self.kinds:
                return None, 0
            self.due = max(self.due + 1 / PEERS_PER_S, time.monotonic() - 1)
            return self.kinds.pop(), self.due

    def visit_on(self):
        while True:
            kind, due = self.next()
            if kind is None:
                return
            time.sleep(max(0, due - time.monotonic()))
            self.visit(kind)

    def visit(self, kind):
        """Whatever becomes of it: a server that hangs up on a hostile peer is right."""
        ended = "by itself"
        try:
            KINDS[kind](Visitor(self.arena, random.Random(self.chance.random())))
        except (OSError, Failed, IndexError) as failure:
            ended = type(failure).__name__
        with self.lock:
            self.found.append({"kind": kind, "ended": ended})

    def end(self):
        for thread in self.threads:
            thread.join()
        return self.found


class Growth:
    """What the server takes, looked at all the time."""

    def __init__(self, pid):
        self.pid, self.seen, self.is_over = pid, [], threading.Event()
        self.thread = threading.Thread(target=self.look_on, daemon=True)
        self.thread.start()

    def look_on(self):
        while not self.is_over.wait(LOOK_S):
            try:
                self.seen.append(taken(self.pid))
            except OSError:
                return

    def end(self):
        self.is_over.set()
        self.thread.join()
        return {what: {"first": self.seen[0][what], "most": max(one[what] for one in self.seen),
                       "last": self.seen[-1][what]} for what in self.seen[0]}


def taken(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    return {"rss_mb": int(status["VmRSS"].split()[0]) / 1000, "threads": int(status["Threads"]),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd"))}


def drawn(count, seed):
    """Each kind as often as the others, in random order."""
    chance = random.Random(f"{seed} hostile")
    kinds = [list(KINDS)[number % len(KINDS)] for number in range(count)]
    chance.shuffle(kinds)
    return kinds, chance


def measure(asked, lab, progress, until=None):
    kinds, chance = drawn(asked.hostile, asked.seed)
    besieged = Besieged(lab)
    rounds = []
    while kinds and not (until and until()):
        mine, kinds = kinds[:ROUND_PEERS], kinds[ROUND_PEERS:]
        rounds.append(besieged.round(mine, chance))
        progress([{"complaints": []}] * len(besieged.visits))
    complaints = []
    try:
        besieged.end()
    except Failed as failure:
        complaints.append(str(failure))
    growth = besieged.growth.end()
    part = summed_up(rounds, besieged.visits, growth)
    return {**part, "complaints": complaints + judged(part)}


def summed_up(rounds, visits, growth):
    """The ratio is that of neighbours in time: a siege over the calm before it."""
    part = {"rounds": len(rounds), "peers": len(visits), "growth": growth,
            "kinds": dict(sorted(collections.Counter(one["kind"] for one in visits).items())),
            "ended": dict(sorted(collections.Counter(
                f"{one['kind']}: {one['ended']}" for one in visits).items()))}
    for when in ("calm", "besieged"):
        probes = [probe for one in rounds for probe in one[when]]
        part[when] = {"probes": len(probes),
                      "succeeded": sum(probe["status"] == 0 for probe in probes),
                      "mbps": statistics.median(usual(one[when]) for one in rounds),
                      "longest_s": max(probe["seconds"] for probe in probes),
                      "said": sorted({probe["said"] for probe in probes if probe["said"]})[:10]}
    part["ratio"] = statistics.median(usual(one["besieged"]) / usual(one["calm"])
                                      for one in rounds)
    return part


def usual(probes):
    known = [probe["mbps"] for probe in probes if probe["mbps"] is not None]
    return statistics.median(known) if known else float("nan")


def judged(part):
    found, besieged = [], part["besieged"]
    if besieged["succeeded"] < SUCCESS * besieged["probes"]:
        found.append(f"{besieged['succeeded']} of {besieged['probes']} probes succeeded")
    if not abs(part["ratio"] - 1) <= NEAR:
        found.append(f"throughput was {part['ratio']:.2f} of that without hostile peers")
    rss = part["growth"]["rss_mb"]
    if rss["most"] - rss["first"] > MOST_GROWTH_MB:
        found.append(f"the server grew from {rss['first']:.0f} to {rss['most']:.0f} MB")
    return found
