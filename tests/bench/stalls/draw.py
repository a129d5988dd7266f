"""Draws plays of jobs that stand still, and of healthy ones that pause, from a seed.

Each is a scenario as those of tests/lab/scenarios; what a watch is to find is its truth.
"""

import random

LIMIT_S = 10
LIMITS_OF_PATIENCE = 6
ANSWER_S = 15  # from the limit until the answer is asked for
HOLDS_S = LIMIT_S + ANSWER_S + 20  # from the fault to the end of the play
PAUSES_S = (12, 28)
SETUPS = ((2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2))  # hosts, ranks on each
OUTPUTS = ("lines", "silent")


def topology(hosts):
    names = ["a", "b", "c"][:hosts]
    way = {"rate_mbps": 2000, "delay_ms": 0.1}
    if hosts == 2:
        return {"hosts": names, "links": [{"name": "lan", "between": names, "there": way}]}
    return {"hosts": [*names, "s"], "switch": "s",
            "links": [{"name": f"lan-{name}", "between": [name, "s"], "there": way}
                      for name in names]}


class Draw:
    def __init__(self, seed, number):
        self.chance = random.Random(f"{seed}/{number}")
        self.hosts, self.each = self.chance.choice(SETUPS)
        self.rank = self.chance.randrange(self.hosts * self.each)
        self.host = "abc"[self.rank // self.each]
        self.compute_ms = self.chance.choice((20, 60, 150, 400))
        self.job = {"program": "stalling", "width": self.chance.choice((64, 256, 512)),
                    "depth": 2, "batch": 8, "compute_ms": self.compute_ms, "steps": 100_000,
                    "ranks_a_host": self.each, "output": self.chance.choice(OUTPUTS)}
        self.begins_s = self.chance.uniform(4, 8) + self.compute_ms * 6 / 1000

    def by_program(self, does, cause):
        step = max(8, round(self.begins_s * 1000 / (self.compute_ms + 15)))
        return self.play({"kind": "stall",
                          "options": {"does": does, "at_step": step, "rank": self.rank}},
                         cause, {"rank": self.rank, "node": self.host})

    def play(self, fault, cause, place):
        fault = {"from_s": self.begins_s, "over_s": HOLDS_S, **fault}
        return {"about": cause, "topology": topology(self.hosts), "job": self.job, "fault": fault,
                "truth": {"class": "stalled", "cause": cause, "ranks": self.hosts * self.each,
                          **place}, "expected": {}}

    def link(self):
        return "lan" if self.hosts == 2 else f"lan-{self.host}"

    def rank_stopped(self):
        return self.play({"kind": "rank-stopped", "rank": self.rank}, "rank-stopped",
                         {"rank": self.rank, "node": self.host})

    def rank_busy(self):
        """Its node has patience with a rank that computes."""
        made = self.by_program("loop", "rank-busy")
        made["fault"]["over_s"] = LIMITS_OF_PATIENCE * LIMIT_S + ANSWER_S + 10
        return made

    def rank_missing(self):
        return self.by_program(self.chance.choice(("lock", "sleep")), "rank-missing")

    def nccl(self):
        """The stand-in for NCCL instead of PyTorch."""
        self.job = {"program": "nccl", "compute_ms": self.compute_ms, "steps": 100_000,
                    "buckets": self.chance.choice((1, 4)), "bytes": 200_000,
                    "ranks_a_host": self.each, "output": self.job["output"]}

    def nccl_rank_missing(self):
        self.nccl()
        step = max(8, round(self.begins_s * 1000 / (self.compute_ms + 5)))
        return self.play({"kind": "stall",
                          "options": {"absent_rank": self.rank, "absent_step": step}},
                         "rank-missing", {"rank": self.rank, "node": self.host})

    def nccl_path_dead(self):
        self.nccl()
        return self.path_dead()

    def mismatch(self):
        return self.by_program("other", "mismatch")

    def rank_blocked_io(self):
        self.job |= {"program": "loading", "data": {"files": 8, "kb": 4}, "workers": 0}
        return self.play({"kind": "files-hang", "rank": self.rank}, "rank-blocked-io",
                         {"rank": self.rank, "node": self.host})

    def path_dead(self):
        return self.play({"kind": "path-cut", "link": self.link()}, "path-dead",
                         {"node": self.host})

    def path_dead_one_way(self):
        return self.play({"kind": "path-cut", "link": self.link(),
                          "way": self.chance.choice(("there", "back"))}, "path-dead",
                         {"node": self.host})

    def host_gone(self):
        return self.play({"kind": "host-gone", "host": self.host, "link": self.link()},
                         "host-gone", {"node": self.host})

    def host_frozen(self):
        return self.play({"kind": "host-frozen", "host": self.host}, "host-gone",
                         {"node": self.host})

    def healthy(self):
        does = self.chance.choice(("evaluate", "checkpoint", "compiles"))
        self.job |= {"does": does, "pause_s": self.chance.uniform(*PAUSES_S),
                     "at_step": max(8, round(4000 / (self.compute_ms + 15))),
                     "rank": self.chance.choice((-1, 0)), "steps": 100_000, "seconds": 40}
        return {"about": does, "topology": topology(self.hosts), "job": self.job, "fault": {},
                "truth": {"class": "compute"}, "expected": {}}


STALLS = ("rank_stopped", "rank_busy", "rank_missing", "mismatch", "rank_blocked_io", "path_dead",
          "path_dead_one_way", "host_gone", "host_frozen", "nccl_rank_missing", "nccl_path_dead")


def stalls(seed, count):
    return [(f"{number}-{STALLS[number % len(STALLS)]}",
             getattr(Draw(seed, number), STALLS[number % len(STALLS)])()) for number in range(count)]


def pauses(seed, count):
    return [(f"{number}-healthy", Draw(f"{seed}/healthy", number).healthy())
            for number in range(count)]
