"""Plays drawn by a seed: a job's shape, its ranks and hosts, a wire, a fault and its strength, each
from ranges rather than a list. The same seed and number is the same play. What is true is known by
construction, and what it costs by the twin, which has everything but the (larger) fault.

    healthy     30 %   nothing that a verdict would name: little is sent, or much is computed
    one fault   52 % or more
    two faults  18 % at most: the lesser one, a rank that is late by little, is there in the twin, too
"""

import math
import random

import scenario

PLAYS = 10_000
FAST_MBPS = 10_000
MIN_QUEUE_BYTES = 32_000
CONGESTION_CONTROLS = ("bbr", "cubic", "reno")
SMALL = {"width": 224, "depth": 1, "batch": 8192}  # few bytes, much to compute
SHAPES = {"accumulate": 1, "fp16": 0.5, "flat": 1, "zero": 1, "gather": 1.5, "tp-dp": 2}
HEALTHY, TWO = 0.30, 0.25
SECONDS = 7


def between(chance, low, high):
    """Evenly on a logarithmic scale."""
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def topology(chance, hosts, **wire):
    """Two hosts by a cable, three by a switch; `wire` is of each link."""
    wire = {"rate_mbps": FAST_MBPS, **wire}
    control = chance.choice(CONGESTION_CONTROLS)
    if len(hosts) == 2:
        return {"hosts": hosts, "congestion_control": control,
                "links": [{"name": "lan", "between": hosts, "there": wire}]}
    return {"hosts": [*hosts, "switch"], "switch": "switch", "congestion_control": control,
            "links": [{"name": "lan" if host == "a" else f"lan-{host}",
                       "between": [host, "switch"], "there": wire} for host in hosts]}


def trainer(chance, pattern, **words):
    sizes = {"dp": (2e6, 3e7), "tp": (2e4, 2e6), "pp": (5e5, 8e6)}
    job = {"program": "trainer", "pattern": pattern, "bytes": int(between(chance, *sizes[pattern])),
           "compute_ms": round(between(chance, 40, 150)), "seconds": SECONDS, **words}
    if pattern != "dp" or chance.random() < 0.5:
        job["pieces"] = chance.choice((4, 8, 12))
    if chance.random() < 0.3:
        job["family"] = 6
    return job


def ddp(chance, ranks_a_host=1, **words):
    return {"program": "ddp", "width": chance.choice((384, 512, 768, 1024)),
            "depth": chance.randint(1, 3), "batch": chance.choice((16, 64, 256)),
            "bucket_mb": chance.choice((1, 5, 25)), "ranks_a_host": ranks_a_host,
            "seconds": SECONDS, **words}


def shape(chance, **words):
    """`shapes.py`'s, whose factors are what each sends, of what DDP would."""
    job = ddp(chance, program="shapes", shape=chance.choice(list(SHAPES)), **words)
    if job["shape"] == "accumulate":
        job["micro"] = chance.randint(2, 8)
    if job["shape"] == "tp-dp":
        job["ranks_a_host"] = 2
    return job


def sent_bytes(job):
    """Each way, a step and host, of an all-reduce."""
    if job["program"] != "trainer":
        return 4 * job["depth"] * job["width"] ** 2 * SHAPES.get(job.get("shape"), 1)
    return job["bytes"] * (job.get("pieces", 1) if job["pattern"] != "dp" else 1)


def largest_bytes(job):
    """Of what is exchanged at once; 0 where it is not one all-reduce."""
    if job.get("shape") in ("zero", "gather", "tp-dp"):
        return 0
    return sent_bytes(job) / job.get("pieces", 1)


def any_job(chance, *patterns):
    pattern = chance.choice(patterns)
    makers = {"ddp": ddp, "shape": shape}
    return makers[pattern](chance) if pattern in makers else trainer(chance, pattern)


def healthy(chance):
    hosts = ["a", "b"] if chance.random() < 0.7 else ["a", "b", "c"]
    pattern = chance.choice(("dp", "dp", "tp", "pp", "ddp", "shape"))
    if pattern == "ddp":
        job = ddp(chance, **SMALL)
    elif pattern == "shape":
        job = ddp(chance, program="shapes", shape=chance.choice(("fp16", "flat", "zero", "gather")),
                  **SMALL)
    else:
        job = trainer(chance, pattern, compute_ms=round(between(chance, 250, 500)))
        job["bytes"] = min(job["bytes"], {"dp": 4_000_000, "tp": 64_000, "pp": 500_000}[pattern])
        if pattern == "tp":
            job["pieces"] = 3
        if pattern == "pp":
            job["pieces"] = 16
    return {"topology": topology(chance, hosts), "job": job, "truth": {"class": "compute"}}


def narrow(chance):
    """The rate makes the exchange last 1.5 to 4 times as long as a step computes. A far path has its
    delay in the twin, too, and it is small, so that the rate costs more."""
    job = any_job(chance, "dp", "pp", "ddp", "shape")
    computing_s = job.get("compute_ms", 60) / 1e3
    rate = sent_bytes(job) * 8 / 1e6 / (computing_s * between(chance, 1.5, 4))
    way = {"rate_mbps": round(min(max(rate, 20), 2_500))}
    is_far = chance.random() < 0.35
    wire = {"delay_ms": round(between(chance, 1.2, 3), 1)} if is_far else {}
    if chance.random() < 0.5:
        way["queue_bytes"] = max(MIN_QUEUE_BYTES,
                                 round(way["rate_mbps"] * 125 * between(chance, 5, 300)))
    return {"topology": topology(chance, ["a", "b"], **wire), "job": job,
            "fault": {"kind": "link", "link": "lan", "there": {**way, **wire}},
            "truth": {"class": "wan-bandwidth" if is_far else "lan-bandwidth",
                      "cause": "line-rate" if is_far else "shaper", "node": "a"}}


def far(chance):
    job = any_job(chance, "dp", "tp", "ddp", "shape")
    cause = "gloo-credit" if largest_bytes(job) > 1_000_000 else None
    delay_ms = round(between(chance, 4, 30), 1)
    return {"topology": topology(chance, ["a", "b"], delay_ms=0.1), "job": job,
            "fault": {"kind": "link", "link": "lan",
                      "there": {"rate_mbps": FAST_MBPS, "delay_ms": delay_ms}},
            "truth": {"class": "wan-latency", "cause": cause, "node": "a"}}


def lossy(chance):
    job = any_job(chance, "dp", "pp")
    is_far = chance.random() < 0.5
    wire = {"rate_mbps": 1000, "delay_ms": round(between(chance, 3, 12), 1) if is_far else 0.1}
    loss = between(chance, 0.001, 0.01) if is_far else between(chance, 0.004, 0.02)
    return {"topology": topology(chance, ["a", "b"], **wire), "job": job,
            "fault": {"kind": "link", "link": "lan", "there": {**wire, "loss": round(loss, 5)},
                      "back": wire},
            "truth": {"class": "wan-loss" if is_far else "lan-loss", "cause": "loss",
                      "from": "a", "to": "b"}}


def late(chance):
    hosts = ["a", "b"] if chance.random() < 0.6 else ["a", "b", "c"]
    is_torch = chance.random() < 0.6
    ranks_a_host = chance.choice((1, 2, 2, 4)) if is_torch and len(hosts) == 2 else 1
    job = ddp(chance, ranks_a_host) if is_torch else any_job(chance, "dp", "tp", "shape")
    ranks_a_host = job.get("ranks_a_host", 1)
    rank = chance.randrange(len(hosts) * ranks_a_host)
    return {"topology": topology(chance, hosts), "job": job,
            "fault": {"kind": "job", "options": {"late_rank": rank,
                                                 "late_ms": round(between(chance, 40, 300))}},
            "truth": {"class": "straggler", "cause": "late-rank", "rank": rank}}


def small_buffer(chance):
    is_sender = chance.random() < 0.5
    bytes_most = chance.choice((16384, 32768))
    sysctl = ({"net.ipv4.tcp_wmem": f"4096 {bytes_most} {bytes_most}"} if is_sender else
              {"net.ipv4.tcp_rmem": f"4096 {bytes_most} {bytes_most}"})
    job = trainer(chance, "dp", bytes=int(between(chance, 8e6, 2e7)))
    return {"topology": topology(chance, ["a", "b"], delay_ms=round(between(chance, 0.2, 0.5), 2)),
            "job": job, "fault": {"kind": "sysctls", "host": "a" if is_sender else "b",
                                  "sysctls": sysctl},
            "truth": {"class": "sender-host" if is_sender else "receiver-host",
                      "cause": "send-buffer" if is_sender else "receive-window",
                      "from": "a", "to": "b"}}


def starved(chance):
    is_sender = chance.random() < 0.5
    job = trainer(chance, "pp", bytes=int(between(chance, 3e7, 6.4e7)), pieces=4, compute_ms=60,
                  forward_only=True, pinned=True)
    fault = ({"kind": "processor-taken", "host": "a", "nice": -12} if is_sender else
             {"kind": "processor-quota", "host": "b", "period_ms": 40,
              "share": round(between(chance, 0.02, 0.04), 3)})
    return {"topology": topology(chance, ["a", "b"]), "job": job, "fault": fault,
            "truth": {"class": "sender-host" if is_sender else "receiver-host",
                      "cause": "process-cpu", "from": "a", "to": "b"}}


def competing(chance):
    job = any_job(chance, "dp", "pp")
    rate = chance.choice((500, 1000))
    udp = {"udp_mbps": round(rate * chance.uniform(0.5, 0.85))} if chance.random() < 0.4 else {}
    return {"topology": topology(chance, ["a", "b"], rate_mbps=rate), "job": job,
            "fault": {"kind": "competing", "link": "lan", "host": "a",
                      "streams": chance.randint(2, 4), **udp},
            "truth": {"class": "lan-bandwidth", "cause": "competing-traffic", "from": "a",
                      "to": "b"}}


FAULTS = ((narrow, 4), (far, 3), (lossy, 3), (late, 5), (small_buffer, 2), (starved, 1),
          (competing, 2))


def with_lesser(chance, document):
    """A rank that is late by little beside the fault, in the twin, too."""
    job = document["job"]
    if document["fault"]["kind"] != "job":
        late_ms = round(between(chance, 10, 60))
        rank = chance.randrange(2)
        job |= {"late_rank": rank, "late_ms": late_ms}
        document["truth"]["second"] = {"class": "straggler", "rank": rank,
                                       "ms": late_ms * job.get("micro", 1)}


def play(seed, number):
    chance = random.Random(f"{seed} {number}")
    if chance.random() < HEALTHY:
        document, kind = healthy(chance), "healthy"
    else:
        make = chance.choices([each for each, _ in FAULTS], [weight for _, weight in FAULTS])[0]
        document, kind = make(chance), make.__name__
        if chance.random() < TWO:
            with_lesser(chance, document)
    document["truth"] = {name: value for name, value in document["truth"].items()
                         if value is not None}
    name = f"draw-{seed}-{number:05}-{kind}" + ("-two" if "second" in document["truth"] else "")
    return scenario.made(name, {"about": "drawn", "expected": {}, **document})


def plays(seed, count):
    """[(kind, scenario)], as strengths.every() gives its own."""
    if count > PLAYS:
        raise ValueError(f"there are {PLAYS:,} plays to a seed")
    return [(one.name.split("-")[3], one) for one in (play(seed, k) for k in range(count))]
