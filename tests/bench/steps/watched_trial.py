"""A trial on two hosts of its own, each watched by `chokepoint run`, which sees packets: the job
says nothing of its steps, or by marks alone, of which the sources that are held against them know
nothing."""

from lab import Failed
from told import Truth, of_record
from trials import RATE_MBPS
from watched import Record

RANKS = 2
PORT = 29500
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class WatchedTrial:
    def __init__(self, lab, trial):
        self.trial = trial
        self.folder = lab.folder / trial.name
        (self.folder / "meet").mkdir(parents=True)
        self.hosts = [lab.host(f"{trial.name}-{rank}") for rank in range(RANKS)]
        self.link = lab.link(*self.hosts, RATE_MBPS)
        self.jobs = [self.start(rank) for rank in range(RANKS)]

    def start(self, rank):
        host, end = self.hosts[rank], (self.link.a, self.link.b)[rank]
        return host.start(
            ["chokepoint", "run", "--out", self.folder / "run", "--node", host.name, "--output",
             "direct", "--", *self.trial.words(self.folder / "meet", self.truth(rank))],
            environment={**ONE_THREAD, "RANK": str(rank), "WORLD_SIZE": str(RANKS),
                         "MASTER_ADDR": self.link.a.ipv4, "MASTER_PORT": str(PORT),
                         "GLOO_SOCKET_IFNAME": end.interface})

    def truth(self, rank):
        return self.folder / f"truth-{rank}.json"

    def figures(self):
        """Once it is over; of rank 0's host."""
        for job in self.jobs:
            if job.wait(self.trial.seconds) != 0:
                raise Failed(job.told())
        with Record.of(self.folder / "run", self.hosts[0].name) as record:
            truth = (Truth.of_marks(record) if self.trial.is_real
                     else Truth.of_trainer(self.truth(0)))
            sources = of_record(record, truth)
        return {"steps": len(truth.steps), "true_ms": truth.mean_ms,
                "spread_percent": truth.spread_percent, "sources": sources}
