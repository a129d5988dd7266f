"""`chokepoint probe pcie` beside nvbandwidth's method in PyTorch, by turns."""

import pathlib
import shutil
import statistics

import machine
import programs
from outcome import Failed, Skipped, decide

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 3
WITHIN = 0.03
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


def link(session):
    """The link as probe pcie latched it under load, beside the driver's word while it copies."""
    machine.torch_facts(session)
    if not shutil.which("nvidia-smi"):
        raise Skipped("nvidia-smi is missing")
    gpu = session.shared.get("gpu") or first_gpu(session.ask("probe", PROBE))
    load = session.start("load", [machine.PYTHON, HERE / "torch_copies.py", "512", "60"])
    best = None
    for number in range(12):
        text = session.run(f"smi-{number}", [
            "nvidia-smi", "--query-gpu=pcie.link.gen.current,pcie.link.width.current,"
            "pcie.link.gen.max,pcie.link.width.max", "--format=csv,noheader"])
        now = [int(word) for word in text.splitlines()[0].split(",")]
        best = max(best or now, now)
        if load.process.poll() is not None:
            break
    told = gpu.get("link") or {}
    wanted = {"speed_gts": SPEEDS.get(best[0]), "width": best[1]}
    return decide(all(told.get(key) == value for key, value in wanted.items()),
                  f"probe pcie: {told.get('speed_gts')} GT/s x{told.get('width')} of at most "
                  f"{told.get('max_speed_gts')} x{told.get('max_width')}; the driver under load: "
                  f"{wanted['speed_gts']} GT/s x{wanted['width']}; ceiling "
                  f"{(gpu.get('ceiling_mbps') or 0) / 8000:.1f} GB/s", probe=told, driver=best)
