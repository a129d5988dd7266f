"""Several ranks a host: each of them late once, wherever it is; of many, some of them."""

HOSTS = "abc"
LATE_MS = 100
# hosts, ranks on each, which ranks are late: all, or some
PLAYS = ((2, 2, None), (2, 4, None), (3, 1, None), (3, 2, None), (3, 4, (0, 5, 11)),
         (2, 8, (1, 8, 14)))


def topology(hosts):
    fast = {"rate_mbps": 10000}
    names = list(HOSTS[:hosts])
    if hosts == 2:
        return {"hosts": names, "links": [{"name": "lan", "between": names, "there": fast}]}
    return {"hosts": [*names, "switch"], "switch": "switch",
            "links": [{"name": f"lan-{name}", "between": [name, "switch"], "there": fast}
                      for name in names]}


def late(hosts, ranks_a_host, rank):
    return ("late-rank-ddp", {
        "topology": topology(hosts),
        "job": {"ranks_a_host": ranks_a_host, "width": 512, "batch": 16},
        "fault": {"options": {"late_rank": rank, "late_ms": LATE_MS}},
        "truth": {"rank": rank, "node": HOSTS[rank // ranks_a_host]}})


ALL = {f"ranks-{hosts}x{ranks_a_host}-late-{rank}": late(hosts, ranks_a_host, rank)
       for hosts, ranks_a_host, some in PLAYS
       for rank in (range(hosts * ranks_a_host) if some is None else some)}
