"""Plays drawn by a seed: a job's shape, its ranks and hosts, a wire, a fault and its strength, each
from ranges rather than a list. The same seed, number and kind is the same play, whatever else is
drawn from. What is true is known by construction, and what it costs by the twin, which has everything
but the (larger) fault. KINDS has the kinds and how often each is drawn:

    healthy     30 %   nothing that a verdict would name: little is sent, or much is computed
    one fault   54 % or more
    two faults  16 % at most: the lesser, a rank that is late by little, is there in the twin, too
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
# How often each rank sends all parameters in a step, but for its own part: an all-reduce, twice.
SENT = {"ddp": 2, "accumulate": 2, "fp16": 1, "flat": 2, "zero": 2, "gather": 3, "fsdp": 4,
        "local-sgd": 2, "experts": 2}
PIPELINES = ("pp-dp", "gpipe")
SHAPES = (*(shape for shape in SENT if shape != "ddp"), "tp-dp", *PIPELINES)
SIDE_BY_SIDE = ("tp-dp", "pp-dp")  # two ranks a host
SEVERAL = ("fsdp", "local-sgd", "gpipe", "experts")  # one or two, and drawn twice as often
IN_PASSES = ("accumulate", *PIPELINES)
ONE_WAY = ("dp", "ddp", "accumulate", "flat", "fsdp", "local-sgd")  # as much goes either way
OUTPUTS = ("silent", "marks")
TWO = 0.22
MODERN = 0.3  # of the jobs of PyTorch, on the one of today
SECONDS = 7
LONG = 12  # where few steps exchange
FLOPS_PER_MS = 15_000_000  # of a processor, of which each host has one
LONGEST_COMPUTING_MS, LONGEST_EXCHANGE_MS = 250, 600
LATE_SHARE = 0.15  # of what a step computes, at least
HIDDEN = 0.5  # of what a step computes, at most, is what loaders fetch beside it
HEALTHY_SENDING = 0.025  # of a step, at most, takes what is sent there
HEALTHY_BYTES_PER_MS = 400_000  # that two processors send at least


def between(chance, low, high):
    """Evenly on a logarithmic scale."""
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def topology(chance, hosts, controls=CONGESTION_CONTROLS, is_switched=False, **wire):
    """Two hosts by a cable, three by a switch; `wire` is of each link."""
    wire = {"rate_mbps": FAST_MBPS, **wire}
    control = chance.choice(controls)
    if len(hosts) == 2 and not is_switched:
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
    return heard(chance, short({
        "program": "ddp", "width": chance.choice((384, 512, 768, 1024)),
        "depth": chance.randint(1, 3), "batch": chance.choice((16, 64, 256)),
        "bucket_mb": chance.choice((1, 5, 25)), "ranks_a_host": ranks_a_host,
        "seconds": SECONDS, **words}))


def short(job):
    """So that there are many steps."""
    while computing_ms(job) > LONGEST_COMPUTING_MS and job["batch"] > 1:
        job["batch"] //= 2
    return job


def shape(chance, *names, **words):
    """One of shapes.py's, which computes on processors or sleeps as a GPU's job."""
    name = chance.choice(names or (*SHAPES, *SEVERAL))
    job = ddp(chance, program="shapes", shape=name, **words)
    if name in SIDE_BY_SIDE:
        job["ranks_a_host"] = 2
    elif name in SEVERAL:
        job["ranks_a_host"] = one_or_two(chance)
    if name in IN_PASSES:
        job["micro"] = chance.randint(2, 8)
    if name in (*PIPELINES, "experts"):
        job["batch"] = chance.choice((64, 256))
    if name == "local-sgd":
        job |= {"every": chance.choice((2, 4, 8)), "seconds": LONG}
    if name == "fsdp":
        job |= {"depth": chance.randint(2, 4), "width": min(job["width"], 512),
                "prefetch": chance.random() < 0.5}
    if chance.random() < 0.5:
        job["compute_ms"] = round(between(chance, 40, 150))
    return short(job)


def one_or_two(chance):
    return chance.choice((1, 2))


def kind_of(job):
    return job.get("pattern") or job.get("shape") or job["program"]


def sent_bytes(job, hosts=2):
    """Each way, a step and host."""
    if job["program"] == "trainer":
        return job["bytes"] * (job.get("pieces", 1) if job["pattern"] == "tp" else 1)
    weights, tokens = 4 * job["depth"] * job["width"] ** 2, 4 * job["batch"] * job["width"]
    name, each, others = kind_of(job), job.get("ranks_a_host", 1), (hosts - 1) / hosts
    if name in PIPELINES:
        return job["micro"] * tokens * (each if name == "pp-dp" else 1)
    if name == "tp-dp":
        return 2 * each * weights * others
    sent = SENT[name] * weights * (1 - 1 / (hosts * each)) / job.get("every", 1)
    return sent + (2 * job["depth"] * tokens * each * others if name == "experts" else 0)


def largest_bytes(job):
    """Of what is exchanged at once between two ranks; 0 where it is not one all-reduce."""
    if job["program"] == "trainer":
        return sent_bytes(job) / job.get("pieces", 1)
    layer = 4 * job["width"] ** 2
    in_buckets = min(job["depth"], math.ceil(job["bucket_mb"] * 2 ** 20 / layer)) * layer
    at_once = {"ddp": in_buckets, "accumulate": in_buckets, "fp16": in_buckets / 2,
               "flat": job["depth"] * layer, "local-sgd": job["depth"] * layer}
    return at_once.get(kind_of(job), 0) / job.get("ranks_a_host", 1)


def any_job(chance, *patterns):
    pattern = chance.choice(patterns)
    if pattern == "shape":
        return shape(chance)
    if pattern == "ddp":
        return ddp(chance, one_or_two(chance))
    return trainer(chance, pattern)


def healthy(chance):
    hosts = ["a", "b"] if chance.random() < 0.7 else ["a", "b", "c"]
    pattern = chance.choice(("dp", "dp", "tp", "pp", "ddp", "shape", "shape"))
    if pattern == "ddp":
        job = ddp(chance, **SMALL)
    elif pattern == "shape":
        job = healthy_shape(chance, len(hosts))
    else:
        job = trainer(chance, pattern, compute_ms=round(between(chance, 250, 500)))
        job["bytes"] = min(job["bytes"], {"dp": 4_000_000, "tp": 64_000, "pp": 500_000}[pattern])
        if pattern == "tp":
            job["pieces"] = 3
        if pattern == "pp":
            job["pieces"] = 16
    return {"topology": topology(chance, hosts), "job": job, "truth": {"class": "compute"}}


def healthy_shape(chance, hosts):
    """Little is sent, by ranks that compute on processors or, twice as often, sleep for so long."""
    if chance.random() < 0.33:
        job = ddp(chance, program="shapes", shape=chance.choice(("fp16", "flat", "zero", "gather",
                                                                 "fsdp", "local-sgd")), **SMALL)
        return job | ({"every": chance.choice((2, 4, 8))} if job["shape"] == "local-sgd" else {})
    job = shape(chance, width=chance.choice((224, 384)), seconds=10)
    if job["shape"] in PIPELINES:
        job["micro"] = 8
    sending_ms = sent_bytes(job, hosts) / HEALTHY_BYTES_PER_MS
    return job | {"batch": chance.choice((16, 64)), "seconds": 10,
                  "compute_ms": round(max(between(chance, 250, 500),
                                          sending_ms / HEALTHY_SENDING))}


def computing_ms(job):
    slept = job.get("compute_ms", 0)
    if job["program"] not in ("ddp", "shapes"):
        return slept
    weights = job["depth"] * job["width"] ** 2 * job.get("micro", 1) * job["ranks_a_host"]
    return slept + 6 * job["batch"] * weights / FLOPS_PER_MS


def rate_for(chance, job):
    """Mb/s by which the exchange lasts 1.5 to 4 times what a step computes, and 60 ms."""
    ms = max(60, computing_ms(job) * between(chance, 1.5, 4))
    return rate_that_takes(job, min(ms, LONGEST_EXCHANGE_MS), 20, 2_500)


def rate_that_takes(job, ms, least, most):
    return round(min(max(sent_bytes(job) * 8 / 1e3 / ms, least), most))


def narrow(chance):
    """A far path has its delay in the twin, too, and it is small, so that the rate costs more."""
    job = any_job(chance, "dp", "pp", "ddp", "ddp", "shape", "shape")
    way = {"rate_mbps": rate_for(chance, job)}
    is_far = chance.random() < 0.35
    wire = {"delay_ms": round(between(chance, 1.2, 3), 1)} if is_far else {}
    if is_far:
        wire |= unsteady(chance, wire["delay_ms"])
    if chance.random() < 0.5:
        way["queue_bytes"] = max(MIN_QUEUE_BYTES,
                                 round(way["rate_mbps"] * 125 * between(chance, 5, 300)))
    fault, where = {"there": {**way, **wire}}, {"node": "a"}
    if kind_of(job) in ONE_WAY and chance.random() < 0.35:
        slow, from_, to = ends(chance)
        fast = {"rate_mbps": FAST_MBPS, **wire}
        fault = {"there": fast, "back": fast, slow: {**way, **wire}}
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
    job = any_job(chance, "dp", "tp", "ddp", "shape", "shape")
    if "every" in job:
        job["every"] = min(job["every"], 4)
    cause = "gloo-credit" if largest_bytes(job) > 1_000_000 else None
    delay_ms = round(between(chance, 4, 30), 1)
    return {"topology": topology(chance, ["a", "b"], delay_ms=0.1), "job": job,
            "fault": {"kind": "link", "link": "lan",
                      "there": {"rate_mbps": FAST_MBPS, "delay_ms": delay_ms,
                                **unsteady(chance, delay_ms)}},
            "truth": {"class": "wan-latency", "cause": cause, "node": "a"}}


def lossy(chance):
    job = any_job(chance, "dp", "pp", "ddp", "shape", "shape")
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
    """Once a step, or in each of its passes by a part of that."""
    hosts = ["a", "b"] if chance.random() < 0.6 else ["a", "b", "c"]
    is_torch = chance.random() < 0.5
    several = chance.choice((1, 2, 2, 4)) if is_torch and len(hosts) == 2 else 1
    job = ddp(chance, several) if is_torch else any_job(chance, "dp", "tp", "shape", "shape")
    rank = chance.randrange(len(hosts) * job.get("ranks_a_host", 1))
    return of_late_rank(chance, hosts, job, rank, between(chance, 40, 300))


def of_late_rank(chance, hosts, job, rank, late_ms):
    late_ms = round(max(late_ms, LATE_SHARE * computing_ms(job)) / job.get("micro", 1), 1)
    return {"topology": topology(chance, hosts), "job": job,
            "fault": {"kind": "job", "options": {"late_rank": rank, "late_ms": late_ms}},
            "truth": {"class": "straggler", "cause": "late-rank", "rank": rank}}


def late_stage(chance):
    """A pipeline's last, by several micro-batches, of a model that leaves the processors time."""
    hosts = ["a", "b"] if chance.random() < 0.7 else ["a", "b", "c"]
    job = shape(chance, "gpipe", "gpipe", "pp-dp", width=chance.choice((256, 384, 512)),
                depth=chance.randint(1, 2))
    job = short(job | {"micro": chance.randint(4, 8)})
    last = len(hosts) * job["ranks_a_host"] - 1
    rank = last - (chance.randrange(2) if job["shape"] == "pp-dp" else 0)
    return of_late_rank(chance, hosts, job, rank, between(chance, 120, 500))


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
    """The job alone uses the link for a part of its step; a faster one would take the processors."""
    job = any_job(chance, "dp", "pp", "ddp", "shape", "shape")
    rate = rate_that_takes(job, computing_ms(job) * between(chance, 0.3, 1), 100, 500)
    udp = {"udp_mbps": round(rate * chance.uniform(0.6, 0.85))} if chance.random() < 0.5 else {}
    _, from_, to = ends(chance)
    return {"topology": topology(chance, ["a", "b"], rate_mbps=rate), "job": job,
            "fault": {"kind": "competing", "link": "lan", "host": from_,
                      "streams": chance.randint(2, 4), **udp},
            "truth": {"class": "lan-bandwidth", "cause": "competing-traffic", "from": from_,
                      "to": to}}


def grid(chance, pipeline, **words):
    """A large model on the stand-in for NCCL."""
    job = {"program": "grid", "ranks_a_host": chance.choice((4, 8)), "tensor": 2,
           "pipeline": pipeline, "batches": 4, "layers": chance.randint(1, 2),
           "forward_ms": chance.randint(12, 24), "buckets": chance.choice((1, 2, 4)),
           "bytes": int(between(chance, 2e5, 1e6)), "message": int(between(chance, 2e4, 2e5)),
           **words}
    return job | {"steps": round(8000 / grid_ms(job))}


def grid_ms(job):
    """That a step computes: a pipeline's other stages wait for one micro-batch each."""
    return 3 * job["forward_ms"] * (job["batches"] + job["pipeline"] - 1)


def well_grid(chance):
    return {"topology": topology(chance, ["a", "b"]),
            "job": grid(chance, chance.choice((1, 2)), bytes=200_000, message=20_000),
            "truth": {"class": "compute"}}


def late_grid(chance):
    job = grid(chance, chance.choice((1, 2)))
    rank = chance.randrange(2 * job["ranks_a_host"])
    return of_late_rank(chance, ["a", "b"], job, rank, round(between(chance, 60, 300)))


def narrow_grid(chance):
    """Each tensor's rank has a ring, which passes the link once each way."""
    job = grid(chance, 1)
    ranks = 2 * job["ranks_a_host"] // job["tensor"]
    sent = job["tensor"] * 2 * (ranks - 1) / ranks * job["bytes"] * job["buckets"]
    rate = max(20, round(sent * 8 / 1e3 / (grid_ms(job) * between(chance, 0.5, 2))))
    return {"topology": topology(chance, ["a", "b"]), "job": job,
            "fault": {"kind": "link", "link": "lan", "there": {"rate_mbps": rate}},
            "truth": {"class": "lan-bandwidth", "cause": "shaper", "node": "a"}}


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


def remote(chance, **words):
    """Loaders that wait for what is not on the host: for a store, or, without, for a timer."""
    job = loading(chance, workers=chance.choice((1, 2, 4)), batch=chance.choice((4, 8)), **words)
    job["data"] = {"on": "disk", "files": 40, "kb": 50}
    if chance.random() < 0.6:
        job["data"] = {"on": "store", "kb": chance.choice((4, 16, 50)),
                       "latency_ms": round(between(chance, 0.2, 1), 2)}
    return job


def well_fetched(chance):
    """What is fetched is there when it is wanted, though loaders wait for it most of the time."""
    hosts = ["a", "b"] if chance.random() < 0.7 else ["a", "b", "c"]
    job = remote(chance, compute_ms=round(between(chance, 60, 250)))
    latency_ms = round(job["compute_ms"] * job["workers"] / job["batch"]
                       * chance.uniform(0.1, HIDDEN), 2)
    if job["data"]["on"] == "store":
        job["data"]["latency_ms"] = latency_ms
    else:
        job["fetch_ms"] = latency_ms
    return {"topology": topology(chance, hosts, is_switched=True), "job": job, "fault": {},
            "truth": {"class": "compute"}}


def slow_to_fetch(chance):
    """By all ranks, or by one."""
    hosts = ["a", "b"] if chance.random() < 0.7 else ["a", "b", "c"]
    job = remote(chance)
    batch_ms = job["compute_ms"] + between(chance, 40, 300)
    latency_ms = round(batch_ms * job["workers"] / job["batch"], 1)
    rank, truth = None, {"class": "input"}
    if chance.random() < 0.4:
        rank = chance.randrange(len(hosts) * job["ranks_a_host"])
        truth = {"class": "straggler", "cause": "input", "rank": rank}
    if job["data"]["on"] == "store":
        fault = {"kind": "slow-files", "latency_ms": latency_ms}
        fault |= {} if rank is None else {"ranks": [rank]}
    else:
        options = {"fetch_ms": latency_ms} | ({} if rank is None else {"fetch_rank": rank})
        fault = {"kind": "job", "options": options}
    return {"topology": topology(chance, hosts, is_switched=True), "job": job, "fault": fault,
            "truth": truth}


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
    """By rank 0, while all others wait in their next exchange, or for it to be saved."""
    megabytes = chance.randint(4, 12)
    job = loading(chance, save_every=chance.randint(5, 8), save_mb=megabytes, seconds=14,
                  data={"files": 64, "kb": 4}, save_by_torch=chance.random() < 0.5,
                  save_barrier=chance.random() < 0.5)
    return {"topology": topology(chance, ["a", "b"]), "job": job,
            "fault": {"kind": "slow-files",
                      "mbps": round(8000 * megabytes / between(chance, 300, 1200))},
            "truth": {"class": "storage", "cause": "checkpoint", "rank": 0}}


# How often of a hundred.
KINDS = {healthy: 21, narrow: 12, policed: 2, far: 8, lossy: 8, broken: 2, late: 8, late_stage: 3,
         small_buffer: 4, starved: 2, competing: 8, well_grid: 2, late_grid: 2, narrow_grid: 1,
         well_read: 3, slow_to_read: 3, well_fetched: 4, slow_to_fetch: 3, too_large: 1, saved: 3}
NAMES = tuple(kind.__name__ for kind in KINDS)


def with_lesser(chance, document):
    """A rank that is late by little beside the fault, in the twin, too."""
    job = document["job"]
    late_ms = round(between(chance, 10, 60))
    rank = chance.randrange(2 * job.get("ranks_a_host", 1))
    passes = job.get("micro", 1)
    job |= {"late_rank": rank, "late_ms": round(late_ms / passes, 1)}
    document["truth"]["second"] = {"class": "straggler", "rank": rank, "ms": late_ms}


def may_have_lesser(document):
    """Of what ranks read and write no rank is late besides."""
    return (document["truth"]["class"] != "compute" and document["fault"]["kind"] != "job" and
            document["job"]["program"] != "loading")


def may_be_modern(job):
    """Its Gloo reduces no numbers of 16 bits, and mpirun is not there."""
    return (job["program"] in ("ddp", "shapes", "loading") and job.get("launcher") != "mpirun"
            and job.get("shape") != "fp16")


def play(seed, number, of=NAMES, modern=MODERN):
    """`modern`: the share of the jobs of PyTorch that play in the chroot with the PyTorch of today."""
    weights = {kind: weight for kind, weight in KINDS.items() if kind.__name__ in of}
    make = random.Random(f"{seed} {number}").choices(list(weights), list(weights.values()))[0]
    chance = random.Random(f"{seed} {number} {make.__name__}")
    document = make(chance)
    if may_have_lesser(document) and chance.random() < TWO:
        with_lesser(chance, document)
    if may_be_modern(document["job"]) and random.Random(f"{seed} {number} modern").random() < modern:
        document["job"]["python"] = "modern"
    document["truth"] = {name: value for name, value in document["truth"].items()
                         if value is not None}
    name = f"draw-{seed}-{number:05}-{make.__name__}"
    name += "-two" if "second" in document["truth"] else ""
    return scenario.made(name, {"about": "drawn", "expected": {}, **document})


def plays(seed, count, make=play):
    """[(kind, scenario)], as strengths.every() gives its own."""
    if count > PLAYS:
        raise ValueError(f"there are {PLAYS:,} plays to a seed")
    return [(one.name.split("-")[3], one) for one in (make(seed, k) for k in range(count))]
