"""PyTorch's DDP over NCCL, watched by `chokepoint run` with the profiler plugin, and what is said
of it afterwards."""

import json
import pathlib
import statistics
import time

import hosts
import machine
import ranks
import records
from outcome import Failed, Skipped, decide

HERE = pathlib.Path(__file__).resolve().parent
NODES = ("a", "b")
PAIRS = 3
MOST_OVERHEAD_PERCENT = 0.5
TRAIN = (machine.PYTHON, HERE / "torch_train.py")
# Gradients of 64 MiB, which take a link of 1 Gb/s half a second; and of 2 MiB beside much to compute.
HEAVY = ("--width", "2048", "--depth", "4", "--steps", "20")
LIGHT = ("--width", "512", "--depth", "2", "--work", "40", "--steps", "60")


def watched(session, folder, words):
    """The command of each rank, under watch as a node of its own."""
    return lambda rank: [session.chokepoint, "run", "--out", folder, "--node", NODES[rank],
                         "--live", "off", "--", *TRAIN, *words]


def median_ms(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)["median_ms"]
    raise Failed("the training told no median of its steps")


def diagnosed(session, name, words, rate_mbps):
    machine.torch_facts(session)
    folder = session.folder / "record"
    try:
        with hosts.Hosts(session, rate_mbps) as between:
            ranks.run(session, "train", 2, watched(session, folder, words), between)
    except Skipped:
        if rate_mbps:
            raise
        ranks.run(session, "train", 2, watched(session, folder, words))
    session.shared[name] = folder
    return session.ask("diagnose", ["diagnose", folder, "--json"], fine=(0, 3))


def verdict(session, name, words, rate_mbps, wanted):
    document = diagnosed(session, name, words, rate_mbps)
    told = document.get("verdict") or {}
    accounts = {key: value for key, value in
                (document.get("accounting_ms_per_step") or {}).items() if value}
    steps = document.get("steps") or {}
    return decide(told.get("class") == wanted,
                  f"{told.get('class')} ({told.get('cause') or 'no cause'}), "
                  f"{told.get('lost_ms_per_step') or 0:.1f} ms of a step of "
                  f"{steps.get('median_ms') or 0:.1f}, confidence {told.get('confidence')}; "
                  f"{steps.get('count')} steps from {steps.get('source')}",
                  verdict=told, accounting=accounts, steps=steps)


def lan_bandwidth(session):
    return verdict(session, "limited", HEAVY, 1000, "lan-bandwidth")


def compute(session):
    return verdict(session, "free", LIGHT, None, "compute")


def gloo_copies(session):
    """Gloo with tensors on the GPU: what its copies took stands apart from what the network did."""
    document = diagnosed(session, "gloo", (*HEAVY, "--backend", "gloo"), None)
    accounts = document.get("accounting_ms_per_step") or {}
    step_ms = (document.get("steps") or {}).get("mean_ms") or (
        document.get("steps") or {}).get("median_ms") or 0
    off = sum(accounts.values()) / step_ms - 1 if step_ms else None
    told = ", ".join(f"{name} {ms:.1f}" for name, ms in accounts.items() if ms)
    return decide((accounts.get("pcie") or 0) > 0 and off is not None and abs(off) < 0.1,
                  f"{(document.get('verdict') or {}).get('class')}; of {step_ms:.1f} ms: {told}",
                  document=document)


def played(session):
    """A record of one of the checks before, or of a run now."""
    for name in ("limited", "free"):
        if name in session.shared:
            return session.shared[name], HEAVY if name == "limited" else LIGHT
    diagnosed(session, "free", LIGHT, None)
    return session.shared["free"], LIGHT


def record(session):
    """Steps found, NCCL's collectives seen, and some with the kernels' times, which the plugin asks
    for in a share of the time only."""
    folder, words = played(session)
    wanted = int(words[words.index("--steps") + 1])
    shown = session.ask("record", ["record", "show", folder, "--json"])
    steps = (shown.get("steps") or {}).get("count") or 0
    seen = {node: records.nccl_collectives(folder, node) for node in NODES}
    text = "; ".join(f"{node}: {count} collectives, {kernels} with the kernel's times"
                     for node, (count, kernels) in seen.items())
    return decide(steps >= 0.9 * wanted and
                  all(count >= wanted and kernels > 0 for count, kernels in seen.values()),
                  f"{steps} of {wanted} steps from {(shown.get('steps') or {}).get('source')}; {text}",
                  steps=shown.get("steps"), collectives=seen)


def overhead(session):
    """Each pair is one run without and one with, in turned order."""
    machine.torch_facts(session)
    pairs, longest_s = [], 0
    for number in range(PAIRS):
        began = time.monotonic()
        if pairs and session.left_s() < longest_s:
            break
        times = {}
        for way in (("free", "watched") if number % 2 == 0 else ("watched", "free")):
            folder = session.folder / f"record-{number}"
            command = ([*TRAIN, *LIGHT] if way == "free" else watched(session, folder, LIGHT))
            times[way] = median_ms(ranks.run(session, f"{way}-{number}", 2, command))
        pairs.append((times["free"], times["watched"]))
        longest_s = max(longest_s, time.monotonic() - began)
    more = [100 * (with_ms / without_ms - 1) for without_ms, with_ms in pairs]
    return decide(statistics.median(more) <= MOST_OVERHEAD_PERCENT,
                  f"{statistics.median(more):+.2f} % of a step of "
                  f"{statistics.median(free for free, _ in pairs):.1f} ms, the median of {len(pairs)} "
                  f"pairs from {min(more):+.2f} to {max(more):+.2f} %", pairs_ms=pairs)
