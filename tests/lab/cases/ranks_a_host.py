"""Jobs with several ranks a host: PyTorch over Gloo, partly over loopback. Which of the ranks
arrives late is told, wherever it is, and what it costs."""

import pathlib

import training
from checks import between, same
from cluster import INTERFACE, Cluster

LATE_MS = 100
SPAWN = pathlib.Path(__file__).resolve().parents[1] / "jobs" / "host_ranks.py"


def diagnosed(lab, hosts, per_host, late):
    cluster = Cluster(lab, hosts, rate_mbps=1000)
    records = lab.folder / "records"
    python = training.python_with_torch()
    environment = {"MASTER_ADDR": "10.99.0.1", "MASTER_PORT": "29500", "OMP_NUM_THREADS": "1",
                   "OPENBLAS_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": INTERFACE}
    jobs = [host.start(["chokepoint", "run", "--out", records, "--node", host.name, "--",
                        python, "-B", SPAWN, place * per_host, per_host, hosts * per_host,
                        python, "-B", training.BY_TORCH["ddp"], "--steps", 40, "--width", 512,
                        "--late-rank", late, "--late-ms", LATE_MS], environment=environment)
            for place, host in enumerate(cluster.hosts)]
    for job in jobs:
        same(job.wait(90), 0, job.told())
    return cluster.head.json(["chokepoint", "diagnose", records, "--json"])["verdict"]


def names_it(verdict, host, rank):
    same(verdict["class"], "straggler", f"class ({verdict['sentence']})")
    same(verdict["where"]["node"], host, "node")
    same(verdict["where"]["rank"], rank, "rank")
    between(verdict["lost_ms_per_step"], 0.7 * LATE_MS, 1.1 * LATE_MS, "lost, ms a step")


def measure_a_late_rank_is_named_on_the_host_that_others_wait_for(lab):
    names_it(diagnosed(lab, hosts=2, per_host=2, late=1), "host1", 1)


def measure_a_late_rank_is_named_on_the_other_host(lab):
    names_it(diagnosed(lab, hosts=2, per_host=2, late=2), "host2", 2)


def measure_a_late_rank_is_named_where_all_are_on_one_host(lab):
    names_it(diagnosed(lab, hosts=1, per_host=4, late=2), "host1", 2)
