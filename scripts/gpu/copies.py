"""`chokepoint probe pcie` beside nvbandwidth's method in PyTorch, by turns."""

import pathlib
import shutil
import statistics
import time

import machine
import programs
from outcome import Failed, Skipped, decide

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 3
WITHIN = 0.03
LOOKING_S = 25
PROBE = ("probe", "pcie", "--gpu", "0", "--no-peers", "--bytes", "512M", "--json")
WAYS = ("host_to_device_mbps", "device_to_host_mbps")
SPEEDS = {1: 2.5, 2: 5, 3: 8, 4: 16, 5: 32, 6: 64}


def first_gpu(document):
    for device in document.get("devices") or []:
        if device.get("kind") == "gpu":
            if device.get("data_errors"):
                raise Failed(f"copies arrived changed: {device['data_errors']}")
            return device
    raise Failed("probe pcie tells of no GPU")


def copies(session):
    machine.torch_facts(session)
    ours, theirs = [], []
    for number in range(ROUNDS):
        ours.append(first_gpu(session.ask(f"probe-{number}", PROBE)))
        text = session.run(f"torch-{number}", [machine.PYTHON, HERE / "torch_copies.py"])
        theirs.append(programs.document(text, "torch_copies.py"))
    session.shared["gpu"] = ours[-1]
    ratios, words, figures = [], [], {"rounds": ROUNDS}
    for way in (*WAYS, "both_ways_mbps"):
        told = [gpu.get(way) for gpu in ours]
        if None in told:
            raise Failed(f"probe pcie says nothing of {way}")
        pairs = [one / other[way] for one, other in zip(told, theirs)]
        figures[way] = {"chokepoint": told, "torch": [other[way] for other in theirs],
                        "ratio": statistics.median(pairs)}
        words.append(f"{way.removesuffix('_mbps').replace('_', ' ')} "
                     f"{statistics.median(told) / 8000:.2f} GB/s, ratio {figures[way]['ratio']:.3f}")
        if way in WAYS:
            ratios.append(figures[way]["ratio"])
    return decide(all(abs(ratio - 1) <= WITHIN for ratio in ratios), "; ".join(words), **figures)


def linked(session, number):
    """Generation and width as the driver says just now."""
    text = session.run(f"smi-{number}", [
        "nvidia-smi", "--query-gpu=pcie.link.gen.current,pcie.link.width.current",
        "--format=csv,noheader"])
    words = [word.strip() for word in (text.splitlines() or [""])[0].split(",")]
    if len(words) != 2 or not all(word.isdigit() for word in words):
        raise Skipped(f"nvidia-smi tells of no link: {text[:80].strip()}")
    return tuple(int(word) for word in words)


def link(session):
    """The link as probe pcie latched it under load, beside the driver's word while it copies."""
    machine.torch_facts(session)
    if not shutil.which("nvidia-smi"):
        raise Skipped("nvidia-smi is missing")
    gpu = session.shared.get("gpu") or first_gpu(session.ask("probe", PROBE))
    load = session.start("load", [machine.PYTHON, HERE / "torch_copies.py", "512", "60"])
    # PyTorch takes its time before it copies, and an idle GPU lowers its link.
    until = time.monotonic() + min(LOOKING_S, session.left_s() - 10)
    seen = [linked(session, 0)]
    while time.monotonic() < until and load.process.poll() is None:
        time.sleep(1)
        seen.append(linked(session, len(seen)))
    best = max(seen)
    told = gpu.get("link") or {}
    wanted = {"speed_gts": SPEEDS.get(best[0]), "width": best[1]}
    return decide(all(told.get(key) == value for key, value in wanted.items()),
                  f"probe pcie: {told.get('speed_gts')} GT/s x{told.get('width')} of at most "
                  f"{told.get('max_speed_gts')} x{told.get('max_width')}; the driver under load: "
                  f"{wanted['speed_gts']} GT/s x{wanted['width']}; ceiling "
                  f"{(gpu.get('ceiling_mbps') or 0) / 8000:.1f} GB/s", probe=told, driver=best)
