"""Pairs drawn by a seed: a job on a wire, and the same with one thing changed; `words` ask
`chokepoint predict --from` for the second by a record of the first. The same seed and number is the
same pair."""

import copy
import dataclasses
import random

import draw
import scenario

PAIRS = 10_000
SECONDS = 6
QUIET_MS = 0.1  # of a round trip, that the lab's wire takes without a delay
MIN_MBPS, MAX_MBPS = 40, 1500
WIRE = {"delay_ms": 0.05}
SHAPES = ("zero", "gather", "pp-dp", "tp-dp", "flat", "accumulate", "fp16")


@dataclasses.dataclass(frozen=True)
class Pair:
    name: str
    change: str  # rate, delay, late, loss, bucket, order
    job: str
    before: scenario.Scenario
    after: scenario.Scenario
    words: list


def dp(chance):
    return draw.trainer(chance, "dp")


def tp(chance):
    return draw.trainer(chance, "tp")


def pipeline(chance):
    return draw.trainer(chance, "pp", pieces=chance.choice((4, 8, 12)))


def ddp(chance):
    return draw.ddp(chance, chance.choice((1, 1, 2)))


def shape(chance):
    job = draw.ddp(chance, program="shapes", shape=chance.choice(SHAPES))
    if job["shape"] in ("accumulate", "pp-dp"):
        job["micro"] = chance.randint(2, 6)
    if job["shape"] in draw.SIDE_BY_SIDE:
        job["ranks_a_host"] = 2
    return job


JOBS = (dp, tp, pipeline, ddp, shape, shape)
LOSSY = (dp, pipeline)


def label_of(job):
    kind = job.get("shape") or job.get("pattern") or job["program"]
    return kind + (f", {job['ranks_a_host']} a host" if job.get("ranks_a_host", 1) > 1 else "")


def rate(chance):
    """Between the first and the second there is a factor of 1.5 to 5, either way."""
    job = chance.choice(JOBS)(chance)
    times = draw.between(chance, 1.5, 5)
    fast = min(max(draw.rate_for(chance, job) * times, MIN_MBPS * times), MAX_MBPS)
    mbps = [round(fast), round(fast / times)]
    chance.shuffle(mbps)
    return (job, [{**WIRE, "rate_mbps": each} for each in mbps], [{}, {}],
            ["--link", f"{mbps[1]}M"])


def delay(chance):
    job = chance.choice(JOBS)(chance)
    far = draw.between(chance, 1.5, 20)
    delays = [round(far, 2), round(max(far / draw.between(chance, 2, 20), 0.1), 2)]
    chance.shuffle(delays)
    return (job, [{"rate_mbps": 1000, "delay_ms": each} for each in delays], [{}, {}],
            ["--rtt", f"{2 * delays[1] + QUIET_MS:.2f}ms"])


def late(chance):
    """From all of its lateness to none, or to a part of it."""
    job = chance.choice(JOBS)(chance)
    late_ms = round(draw.between(chance, 30, 150))
    share = chance.choice((0, 0, 0.3, 0.5))
    rank = chance.randrange(2 * job.get("ranks_a_host", 1))
    options = [{"late_rank": rank, "late_ms": late_ms},
               {"late_rank": rank, "late_ms": round(share * late_ms)}]
    wire = {**WIRE, "rate_mbps": 1000}
    return job, [wire, wire], options, ["--late", str(share)]


def loss(chance):
    """From some to none."""
    job = chance.choice(LOSSY)(chance)
    wire = {"rate_mbps": 1000, "delay_ms": round(draw.between(chance, 0.1, 8), 1)}
    lossy = {**wire, "loss": round(draw.between(chance, 0.002, 0.01), 5)}
    return job, [lossy, wire], [{}, {}], ["--loss", "0", "--link", "1000M"]


def bucket(chance):
    """PyTorch's: one for all gradients, or one for each layer or few."""
    job = draw.ddp(chance, 1, width=1024, depth=chance.randint(2, 4), batch=chance.choice((64, 256)))
    sizes = [chance.choice((1, 5)), 25]
    chance.shuffle(sizes)
    wire = {**WIRE, "rate_mbps": round(draw.rate_for(chance, job))}
    return (job, [wire, wire], [{"bucket_mb": each} for each in sizes],
            ["--bucket", f"{sizes[1]}MiB"])


def order(chance):
    """Ranks of a host beside each other, or every other one: twice as many share a host's link."""
    job = draw.ddp(chance, 2)
    if chance.random() < 0.5:
        job |= {"program": "shapes", "shape": chance.choice(("flat", "fp16"))}
    wire = {**WIRE, "rate_mbps": round(max(draw.rate_for(chance, job), MIN_MBPS))}
    places = [{"is_interleaved": False}, {"is_interleaved": True}]
    chance.shuffle(places)
    return job, [wire, wire], places, ["--rank-order", "0,2,1,3"]


CHANGES = ((rate, 4), (delay, 4), (late, 3), (loss, 1), (bucket, 1))
ALL = {each.__name__: each for each in (rate, delay, late, loss, bucket, order)}


def setup(name, job, wire, options):
    hosts = ["a", "b"]
    return scenario.made(name, {
        "about": "one of two that differ by one thing", "expected": {},
        "truth": {"class": "compute"}, "job": {**copy.deepcopy(job), **options},
        "topology": {"hosts": hosts, "congestion_control": "cubic",
                     "links": [{"name": "lan", "between": hosts, "there": wire}]}})


def pair(seed, number, change=None):
    chance = random.Random(f"replay {seed} {number}")
    make = chance.choices([each for each, _ in CHANGES], [weight for _, weight in CHANGES])[0]
    make = ALL[change] if change else make
    job, wires, options, words = make(chance)
    job = {name: value for name, value in job.items() if name not in ("output", "launcher")}
    job["seconds"] = SECONDS
    name = f"{seed}-{number:05}-{make.__name__}"
    before, after = (setup(f"{name}-{which}", job, wire, more)
                     for which, wire, more in zip(("before", "after"), wires, options))
    return Pair(name, make.__name__, label_of(job), before, after, words)


def pairs(seed, count, change=None):
    if count > PAIRS:
        raise ValueError(f"there are {PAIRS:,} pairs to a seed")
    return [pair(seed, number, change) for number in range(count)]
