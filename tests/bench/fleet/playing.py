"""A fleet of eight hosts that is measured round by round with the program's own commands, all into
one history: a preflight of a sample of its pairs, a disk on each host, a training job on some.

Each host has a cable to a switch, shaped at the switch alone, so that a host's own settings do not
tell of it, and a disk of its own, a loop device in memory that a control group slows down.
"""

import contextlib
import dataclasses
import os
import pathlib
import time

import cgroups
import disks
import preflights
import training
from cluster import Cluster
from host_faults import Quota
from job_faults import is_of_the_job
from kernel import Failed
from processes import Process, tree_of

HOSTS = 8
RATE_MBPS = 50
SECOND_RATE_MBPS = 15
SECOND = "eth1"
DISK_BYTES = 600_000_000  # a test leaves 256 MiB alone
DISK_MB_S = 20
IOPS_OF_A_MB_S = 50
RANKS = 3
STEPS = 20
COMPUTE_MS = 40
STEP_BYTES = 400_000
FAR_STEP_BYTES = 200_000
PERIOD_MS = 20
RUN_SECONDS = 120
NEAR = {"rate_mbps": RATE_MBPS}
FAR = {"groups": 2, "rate_mbps": RATE_MBPS, "uplink_mbps": 4 * RATE_MBPS, "rtt_ms": 20}


@dataclasses.dataclass
class Timed:
    """When a measurement began and ended, by the clock of all."""

    what: str
    began: float
    ended: float


class Fleet:
    def __init__(self, lab, closing, random, kind):
        self.lab, self.random, self.kind = lab, random, kind
        self.cluster = Cluster(lab, HOSTS, mtu=1500, **kind.topology)
        self.names = self.cluster.names
        self.step_bytes = FAR_STEP_BYTES if "rtt_ms" in kind.topology else STEP_BYTES
        self.history = lab.folder / "history.db"
        self.measured = []
        self.environment = {}  # of the job
        self.ranks = sorted(random.sample(self.names, RANKS), key=self.names.index)
        self.slow, self.disks, self.quotas = {}, {}, {}
        self.second = {}
        for number, name in enumerate(self.names, 1):
            self.unshape(name)
            if kind.has_second:
                self.add_second(name, number)
            self.add_disk(name, closing)
            self.quotas[name] = closing.enter_context(contextlib.closing(Named(name)))
        self.cluster.serve()

    def host(self, name):
        return self.cluster.named(name)

    def unshape(self, name):
        self.host(name).tc("qdisc", "delete", "dev", "eth0", "root")

    def add_second(self, name, number):
        cable = self.cluster.switches[0].plug(
            Renamed(self.host(name), f"{name}-2"), SECOND, f"10.98.0.{number}/24",
            f"fd98::{number:x}/64")
        cable.limit(receiving_mbps=SECOND_RATE_MBPS)
        # Else each interface answers for the address of the other one.
        self.host(name).sysctls({"net.ipv4.conf.all.arp_ignore": 1,
                                 "net.ipv4.conf.all.arp_announce": 2})
        self.second[name] = cable

    def add_disk(self, name, closing):
        folder = self.host(name).folder / "disk"
        folder.mkdir(parents=True)
        image = pathlib.Path("/dev/shm") / f"{self.host(name).namespace}.image"
        closing.callback(image.unlink)
        closing.enter_context(disks.of_a_file(image, folder, DISK_BYTES))
        self.disks[name] = folder
        self.slow[name] = closing.enter_context(contextlib.closing(
            cgroups.Group(cgroups.first_version("blkio"), f"disk-{name}")))
        self.set_disk(name, DISK_MB_S)

    def set_disk(self, name, mb_s):
        device = os.stat(self.disks[name]).st_dev
        for way in ("read", "write"):
            for what, rate in (("bps", mb_s * 1e6), ("iops", mb_s * IOPS_OF_A_MB_S)):
                self.slow[name].write(f"blkio.throttle.{way}_{what}_device",
                                      f"{os.major(device)}:{os.minor(device)} {round(rate)}")

    # A round: parts that follow one another, so that something can change in between.

    def parts(self):
        return (self.preflight, self.storage, self.job)

    def timed(self, part):
        began = time.time()
        part()
        self.measured.append(Timed(part.__name__, began, time.time()))

    def preflight(self):
        words = preflights.words(self.cluster, "--quick", "--seed", "1", "--time", self.kind.seconds,
                                 "--history", self.history)
        process = self.cluster.head.start(words)
        if process.wait(RUN_SECONDS) not in (0, 3):
            raise Failed(process.told())

    def storage(self):
        self.finish([self.start(name, [self.slow[name]],
                                ["chokepoint", "probe", "storage", "--bytes", "4M", "--time", "0.6",
                                 "--quiet", "--history", self.history, self.disks[name]])
                     for name in self.names])

    def job(self):
        folder = self.lab.folder / f"job-{len(self.measured)}"
        folder.mkdir()
        options = folder / "options"
        options.write_text("\n".join(
            ["--pattern", "dp", "--bytes", str(self.step_bytes), "--compute-ms", str(COMPUTE_MS),
             "--steps", str(STEPS), "--meet", str(folder / "meet"),
             *(["--spin"] if self.kind.spins else []), ""]))
        (folder / "meet").mkdir()
        jobs = {name: self.start(name, [], ["chokepoint", "run", "--quiet", "--out", folder / "run",
                                            "--history", self.history, "--", training.trainer(),
                                            f"@{options}"],
                                 {"RANK": str(rank), "WORLD_SIZE": str(RANKS),
                                  "GLOO_SOCKET_IFNAME": "eth0", **self.environment})
                for rank, name in enumerate(self.ranks)}
        for name, job in jobs.items():
            self.bound(job, self.quotas[name])
        self.finish(jobs.values())

    def bound(self, job, quota):
        """The job alone, without who watches it."""
        def ranks():
            return list(filter(is_of_the_job, tree_of(job.pid)))
        job.until(ranks, RUN_SECONDS, "a rank")
        for pid in ranks():
            quota.take(pid)

    def start(self, name, groups, words, environment=None):
        """In these control groups from its first moment on."""
        host = self.host(name)
        host.started += 1
        enter = "".join(f"echo $$ > {group.folder}/cgroup.procs; " for group in groups)
        process = Process(["sh", "-c", f'{enter}exec "$@"', "sh", *host.inside(words)],
                          host.folder / f"{host.started}", {**host.environment, **(environment or {})})
        host.processes.append(process)
        return process

    def finish(self, processes):
        for process in processes:
            if process.wait(RUN_SECONDS) != 0:
                raise Failed(process.told())


class Renamed:
    """A host whose second cable has a port of another name at the switch."""

    def __init__(self, host, name):
        self.host, self.name = host, name

    def __getattr__(self, name):
        return getattr(self.host, name)


class Named(Quota):
    """A quota for each host; none until it is limited."""

    def __init__(self, name):
        self.first = cgroups.first_version("cpu")
        cgroups.Group.__init__(self, self.first or cgroups.second_version(), f"quota-{name}")
        # As much as all others on this machine have together.
        self.write("cpu.shares" if self.first else "cpu.weight", 50_000 if self.first else 10_000)

    def only(self, share):
        self.limit(PERIOD_MS * 1000, share)
