"""Several ranks a host: each of them late once, wherever it is; of many, some of them."""

HOSTS = "abc"
LATE_MS = 100
TORCH = {"width": 512, "batch": 16}
NCCL = {"program": "nccl", "width": None, "depth": None, "batch": None, "seconds": None,
        "steps": 60, "buckets": 4, "bytes": 200_000, "compute_ms": 60}
# hosts, ranks on each, which ranks are late: all, or some
BY_TORCH = ((1, 2, None), (1, 4, None), (2, 2, None), (2, 4, None), (3, 1, None), (3, 2, None),
            (3, 4, (0, 5, 11)), (2, 8, (1, 8, 14)))
BY_NCCL = ((1, 2, None), (1, 4, None), (1, 8, (0, 3, 7)), (2, 1, None), (2, 2, None),
           (2, 4, None), (2, 8, (1, 8, 14)), (3, 1, None), (3, 2, None), (3, 4, (0, 5, 11)))


def topology(hosts):
    """One host has its switch, too, to which it says nothing."""
    fast = {"rate_mbps": 10000}
    names = list(HOSTS[:hosts])
    if hosts == 2:
        return {"hosts": names, "links": [{"name": "lan", "between": names, "there": fast}]}
    return {"hosts": [*names, "switch"], "switch": "switch",
            "links": [{"name": f"lan-{name}", "between": [name, "switch"], "there": fast}
                      for name in names]}


def late(job, hosts, ranks_a_host, rank):
    return ("late-rank-ddp", {
        "topology": topology(hosts),
        "job": {"ranks_a_host": ranks_a_host, **job},
        "fault": {"options": {"late_rank": rank, "late_ms": LATE_MS}},
        "truth": {"rank": rank, "node": HOSTS[rank // ranks_a_host]}})


def every(prefix, job, plays):
    return {f"{prefix}-{hosts}x{ranks_a_host}-late-{rank}": late(job, hosts, ranks_a_host, rank)
            for hosts, ranks_a_host, some in plays
            for rank in (range(hosts * ranks_a_host) if some is None else some)}


ALL = {**every("ranks", TORCH, BY_TORCH), **every("nccl-ranks", NCCL, BY_NCCL)}
