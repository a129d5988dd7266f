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
SLOWED_BY_LOSS = ("cubic", "reno")
SMALL = {"width": 224, "depth": 1, "batch": 8192}  # few bytes, much to compute
SHAPES = {"accumulate": 1, "fp16": 0.5, "flat": 1, "zero": 1, "gather": 1.5, "tp-dp": 2, "pp-dp": 0,
          "experts": 1}
SIDE_BY_SIDE = ("tp-dp", "pp-dp")  # two ranks a host
OUTPUTS = ("silent", "marks")
HEALTHY, TWO = 0.30, 0.25
SECONDS = 7


def between(chance, low, high):
    """Evenly on a logarithmic scale."""
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def topology(chance, hosts, controls=CONGESTION_CONTROLS, **wire):
    """Two hosts by a cable, three by a switch; `wire` is of each link."""
    wire = {"rate_mbps": FAST_MBPS, **wire}
    control = chance.choice(controls)
    if len(hosts) == 2:
        return {"hosts": hosts, "congestion_control": control,
                "links": [{"name": "lan", "between": hosts, "there": wire}]}
    return {"hosts": [*hosts, "switch"], "switch": "switch", "congestion_control": control,
            "links": [{"name": "lan" if host == "a" else f"lan-{host}",
                       "between": [host, "switch"], "there": wire} for host in hosts]}


def heard(chance, job):
    """How the job is started, and what it says."""
    if job["program"] != "trainer" and chance.random() < 0.25:
        job["launcher"] = chance.choice(("torchrun", "mpirun"))
    if chance.random() < 0.2:
        job["output"] = chance.choice(OUTPUTS)
    return job


def unsteady(chance, delay_ms):
    """A far path whose delay varies, or on which packets overtake each other."""
    if chance.random() < 0.8:
        return {}
    return chance.choice(({"jitter_ms": round(delay_ms * chance.uniform(0.05, 0.3), 2)},
                          {"late": round(between(chance, 0.0005, 0.01), 4)}))


def ends(chance):
    """(the link's way, from, to): what goes one way, and its other way `back`."""
    return chance.choice((("there", "a", "b"), ("back", "b", "a")))


def trainer(chance, pattern, **words):
    sizes = {"dp": (2e6, 3e7), "tp": (2e4, 2e6), "pp": (5e5, 8e6)}
    job = {"program": "trainer", "pattern": pattern, "bytes": int(between(chance, *sizes[pattern])),
           "compute_ms": round(between(chance, 40, 150)), "seconds": SECONDS, **words}
    if pattern != "dp" or chance.random() < 0.5:
        job["pieces"] = chance.choice((4, 8, 12))
    if chance.random() < 0.3:
        job["family"] = 6
    return heard(chance, job)


def ddp(chance, ranks_a_host=1, **words):
    return heard(chance, {
        "program": "ddp", "width": chance.choice((384, 512, 768, 1024)),
        "depth": chance.randint(1, 3), "batch": chance.choice((16, 64, 256)),
        "bucket_mb": chance.choice((1, 5, 25)), "ranks_a_host": ranks_a_host,
        "seconds": SECONDS, **words})


def shape(chance, **words):
    """`shapes.py`'s, whose factors are what each sends, of what DDP would."""
    job = ddp(chance, program="shapes", shape=chance.choice(list(SHAPES)), **words)
    if job["shape"] in ("accumulate", "pp-dp"):
        job["micro"] = chance.randint(2, 8)
    if job["shape"] in SIDE_BY_SIDE:
        job["ranks_a_host"] = 2
    return job


def sent_bytes(job):
    """Each way, a step and host, of an all-reduce."""
    tokens = 4 * job.get("batch", 0) * job.get("width", 0)
    if job.get("shape") == "pp-dp":
        return job["ranks_a_host"] * job["micro"] * tokens
    if job.get("shape") == "experts":
        return 4 * job["depth"] * job["width"] ** 2 + job["depth"] * tokens
    if job["program"] != "trainer":
        return 4 * job["depth"] * job["width"] ** 2 * SHAPES.get(job.get("shape"), 1)
    return job["bytes"] * (job.get("pieces", 1) if job["pattern"] == "tp" else 1)


def largest_bytes(job):
    """Of what is exchanged at once; 0 where it is not one all-reduce."""
    if job.get("shape") in ("zero", "gather", "experts", *SIDE_BY_SIDE):
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
        job = ddp(chance, program="shapes", shape=chance.choice(("fp16", "flat", "zero", "gather",
                                                                   "experts")), **SMALL)
    else:
        job = trainer(chance, pattern, compute_ms=round(between(chance, 250, 500)))
        job["bytes"] = min(job["bytes"], {"dp": 4_000_000, "tp": 64_000, "pp": 500_000}[pattern])
        if pattern == "tp":
            job["pieces"] = 3
        if pattern == "pp":
            job["pieces"] = 16
    return {"topology": topology(chance, hosts), "job": job, "truth": {"class": "compute"}}


def rate_for(chance, job):
    """Mb/s by which the exchange lasts 1.5 to 4 times as long as a step computes."""
    computing_s = job.get("compute_ms", 60) / 1e3
    rate = sent_bytes(job) * 8 / 1e6 / (computing_s * between(chance, 1.5, 4))
    return round(min(max(rate, 20), 2_500))


def narrow(chance):
    """A far path has its delay in the twin, too, and it is small, so that the rate costs more."""
    job = any_job(chance, "dp", "pp", "ddp", "shape")
    way = {"rate_mbps": rate_for(chance, job)}
    is_far = chance.random() < 0.35
    wire = {"delay_ms": round(between(chance, 1.2, 3), 1)} if is_far else {}
    if is_far:
        wire |= unsteady(chance, wire["delay_ms"])
    if chance.random() < 0.5:
        way["queue_bytes"] = max(MIN_QUEUE_BYTES,
                                 round(way["rate_mbps"] * 125 * between(chance, 5, 300)))
    fault, where = {"there": {**way, **wire}}, {"node": "a"}
    if job.get("pattern") == "dp" and chance.random() < 0.3:
        slow, from_, to = ends(chance)
        fault = {"there": {"rate_mbps": FAST_MBPS, **wire}, "back": {"rate_mbps": FAST_MBPS, **wire},
                 slow: {**way, **wire}}
        where = {"from": from_, "to": to}
    return {"topology": topology(chance, ["a", "b"], **wire), "job": job,
            "fault": {"kind": "link", "link": "lan", **fault},
            "truth": {"class": "wan-bandwidth" if is_far else "lan-bandwidth",
                      "cause": "line-rate" if is_far else "shaper", **where}}


def policed(chance):
    """More than the rate is dropped rather than queued."""
    job = any_job(chance, "dp", "pp", "ddp")
    rate = rate_for(chance, job)
    bucket = max(MIN_QUEUE_BYTES, round(rate * 125 * between(chance, 5, 50)))
    wire = {"delay_ms": 0.1}
    return {"topology": topology(chance, ["a", "b"], SLOWED_BY_LOSS, **wire), "job": job,
            "fault": {"kind": "link", "link": "lan",
                      "there": {"rate_mbps": rate, "bucket_bytes": bucket, **wire}},
            "truth": {"class": "lan-loss", "node": "a"}}


def far(chance):
    job = any_job(chance, "dp", "tp", "ddp", "shape")
    cause = "gloo-credit" if largest_bytes(job) > 1_000_000 else None
    delay_ms = round(between(chance, 4, 30), 1)
    return {"topology": topology(chance, ["a", "b"], delay_ms=0.1), "job": job,
            "fault": {"kind": "link", "link": "lan",
                      "there": {"rate_mbps": FAST_MBPS, "delay_ms": delay_ms,
                                **unsteady(chance, delay_ms)}},
            "truth": {"class": "wan-latency", "cause": cause, "node": "a"}}


def lossy(chance):
    job = any_job(chance, "dp", "pp")
    is_far = chance.random() < 0.5
    wire = {"rate_mbps": 1000, "delay_ms": round(between(chance, 3, 12), 1) if is_far else 0.1}
    loss = between(chance, 0.001, 0.01) if is_far else between(chance, 0.004, 0.02)
    run = chance.choice((1, 1, 3, 8))
    bad, from_, to = ends(chance)
    return {"topology": topology(chance, ["a", "b"], SLOWED_BY_LOSS, **wire), "job": job,
            "fault": {"kind": "link", "link": "lan", "there": wire, "back": wire,
                      bad: {**wire, "loss": round(loss, 5), "loss_run": run}},
            "truth": {"class": "wan-loss" if is_far else "lan-loss", "cause": "loss",
                      "from": from_, "to": to}}


def broken(chance):
    """For a while nothing passes: the link is cut, or a host's interface goes down."""
    kind = chance.choice(("cut", "flap"))
    from_s = round(chance.uniform(1, 3), 1)
    fault = {"kind": kind, "link": "lan", "from_s": from_s,
             "until_s": round(from_s + between(chance, 0.7, 2.5), 1)}
    cause, where = ("link-cut", {}) if kind == "cut" else ("interface-flap",
                                                           {"interface": "to-b"})
    return {"topology": topology(chance, ["a", "b"], delay_ms=0.1),
            "job": any_job(chance, "dp", "tp", "ddp"),
            "fault": fault | ({"host": "a"} if kind == "flap" else {}),
            "truth": {"class": "lan-loss", "cause": cause, **where}}


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
    bytes_most = chance.choice((16384, 32768))
    name, fault_class, cause = chance.choice((("tcp_wmem", "sender-host", "send-buffer"),
                                              ("tcp_rmem", "receiver-host", "receive-window")))
    _, from_, to = ends(chance)
    job = trainer(chance, "dp", bytes=int(between(chance, 8e6, 2e7)))
    return {"topology": topology(chance, ["a", "b"], delay_ms=round(between(chance, 0.2, 0.5), 2)),
            "job": job, "fault": {"kind": "sysctls", "host": from_ if name == "tcp_wmem" else to,
                                  "sysctls": {f"net.ipv4.{name}": f"4096 {bytes_most} {bytes_most}"}},
            "truth": {"class": fault_class, "cause": cause, "from": from_, "to": to}}


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
    _, from_, to = ends(chance)
    return {"topology": topology(chance, ["a", "b"], rate_mbps=rate), "job": job,
            "fault": {"kind": "competing", "link": "lan", "host": from_,
                      "streams": chance.randint(2, 4), **udp},
            "truth": {"class": "lan-bandwidth", "cause": "competing-traffic", "from": from_,
                      "to": to}}


def loading(chance, **words):
    return {"program": "loading", "width": chance.choice((256, 512)), "depth": 1,
            "batch": chance.choice((4, 8, 16)), "compute_ms": round(between(chance, 30, 120)),
            "workers": chance.choice((0, 0, 1, 2, 4)), "ranks_a_host": chance.choice((1, 1, 2)),
            "data": {"files": 64, "kb": chance.choice((50, 200, 500))}, "seconds": 10, **words}


def well_read(chance):
    """From the page cache: a file system of the lab's own takes its time, however fast it is told to
    be."""
    hosts = ["a", "b"] if chance.random() < 0.7 else ["a", "b", "c"]
    data = {"on": "disk", "files": 40, "kb": chance.choice((50, 200, 500))}
    return {"topology": topology(chance, hosts), "job": loading(chance, data=data), "fault": {},
            "truth": {"class": "compute"}}


def slow_to_read(chance):
    """Of all ranks, or of one. Loaders read beside computing."""
    hosts = ["a", "b"] if chance.random() < 0.7 else ["a", "b", "c"]
    job = loading(chance)
    hidden_ms = job["compute_ms"] if job["workers"] else 0
    kilobits = 8 * job["batch"] * job["data"]["kb"]
    fault = {"kind": "slow-files", "mbps": round(kilobits / (hidden_ms + between(chance, 40, 300)), 1)}
    truth = {"class": "input", "cause": "storage-read"}
    if chance.random() < 0.4:
        rank = chance.randrange(len(hosts) * job["ranks_a_host"])
        fault["ranks"] = [rank]
        truth = {"class": "straggler", "cause": "input", "rank": rank}
    return {"topology": topology(chance, hosts), "job": job, "fault": fault, "truth": truth}


def too_large(chance):
    """Data that are read again and again, from disks."""
    job = loading(chance, ranks_a_host=1, workers=chance.choice((0, 1, 2)), seconds=14,
                  batch=chance.choice((8, 16)),
                  data={"on": "disk", "files": chance.randint(130, 220), "kb": 1000})
    return {"topology": topology(chance, ["a", "b"]), "job": job,
            "fault": {"kind": "slow-disk", "mbps": round(between(chance, 600, 1200)),
                      "memory_mb": chance.randint(70, 90)},
            "truth": {"class": "input", "cause": "page-cache"}}


def saved(chance):
    """By rank 0, so slowly that a step waits for 400 ms or more."""
    megabytes = chance.randint(4, 12)
    job = loading(chance, save_every=chance.randint(6, 12), save_mb=megabytes, seconds=14,
                  data={"files": 64, "kb": 4})
    return {"topology": topology(chance, ["a", "b"]), "job": job,
            "fault": {"kind": "slow-files",
                      "mbps": round(8000 * megabytes / between(chance, 400, 2000))},
            "truth": {"class": "storage", "cause": "checkpoint", "rank": 0}}


FAULTS = ((narrow, 4), (policed, 1), (far, 3), (lossy, 3), (broken, 1), (late, 5), (small_buffer, 2),
          (starved, 1), (competing, 2))
INPUT_FAULTS = ((slow_to_read, 5), (too_large, 2), (saved, 3))


def with_lesser(chance, document):
    """A rank that is late by little beside the fault, in the twin, too."""
    job = document["job"]
    if document["fault"]["kind"] != "job":
        late_ms = round(between(chance, 10, 60))
        rank = chance.randrange(2)
        job |= {"late_rank": rank, "late_ms": late_ms}
        document["truth"]["second"] = {"class": "straggler", "rank": rank,
                                       "ms": late_ms * job.get("micro", 1)}


def input_play(seed, number):
    chance = random.Random(f"input {seed} {number}")
    makers = [each for each, _ in INPUT_FAULTS]
    make = well_read if chance.random() < HEALTHY else chance.choices(
        makers, [weight for _, weight in INPUT_FAULTS])[0]
    name = f"draw-{seed}-{number:05}-{make.__name__}"
    return scenario.made(name, {"about": "drawn", "expected": {}, **make(chance)})


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


def plays(seed, count, make=play):
    """[(kind, scenario)], as strengths.every() gives its own."""
    if count > PLAYS:
        raise ValueError(f"there are {PLAYS:,} plays to a seed")
    return [(one.name.split("-")[3], one) for one in (make(seed, k) for k in range(count))]
