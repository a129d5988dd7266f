"""A large model on the stand-in for NCCL: tensor, data and pipeline parallel at once, each rank in
five communicators, each host watched, the records in one folder.

    grid = Grid(lab, hosts=4, each=16)
    played = grid.play("late", late_rank=37, late_ms=80).wait()
    print(played.diagnosis()["verdict"])

Four ranks of a tensor's group are neighbours in a host; the first half of the hosts has the model's
first stage, the other one the second.
"""

import dataclasses
import pathlib
import sys

from cluster import Cluster
from training import SEVERAL, nccl_grid
from watched import Record

# A 10 Gb/s network is not what holds such a small model back.
FAST_MBPS = 10_000


@dataclasses.dataclass
class Played:
    cluster: Cluster
    out: pathlib.Path
    runs: dict  # by host

    def wait(self, timeout=120):
        for run in self.runs.values():
            run.wait(timeout)
        return self

    def record(self, host):
        return Record.of(self.out, host)

    def diagnosis(self):
        return self.cluster.head.json(["chokepoint", "diagnose", self.out, "--json"], timeout=60)


class Grid:
    def __init__(self, lab, hosts=4, each=16):
        self.folder, self.each, self.ranks = lab.folder, each, hosts * each
        self.cluster = Cluster(lab, hosts, rate_mbps=FAST_MBPS)
        self.addresses = ",".join(map(self.cluster.address, self.cluster.names))

    def limit(self, host, mbps):
        """What the host may send."""
        self.cluster.cables[host].limit(sending_mbps=mbps)

    def play(self, name, inside=(), environment=None, **options):
        """`inside`: what starts each rank in turn, such as unshare; `options`: the stand-in's."""
        words = [word for option, value in {"tell": 1, **options}.items()
                 for word in ("--" + option.replace("_", "-"), value)]
        out = self.folder / name
        return Played(self.cluster, out, {
            host.name: host.start(
                ["chokepoint", "run", "--out", out, "--node", host.name, "-q", "--",
                 sys.executable, "-B", SEVERAL, place * self.each, self.each, self.ranks,
                 *inside, nccl_grid(), self.addresses, *words], environment=environment)
            for place, host in enumerate(self.cluster.hosts)})
