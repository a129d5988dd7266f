"""The GPU's own counters in the record of a run."""

import pathlib

import machine
import programs
import records
from outcome import Skipped, decide

HERE = pathlib.Path(__file__).resolve().parent
LOAD_S = 12
ONE_WAY_S = 6
NODE = "here"
NVLINK = ("gpu.nvlink_active", "gpu.nvlink_crc_errors", "gpu.nvlink_replays",
          "gpu.nvlink_sent_bytes")


def loaded(session, name, seconds, *ways):
    """The record of a run of torch_load.py, and what that says it did."""
    machine.torch_facts(session)
    folder = session.work / f"{name}-record"
    text = session.run(name, [session.chokepoint, "run", "--out", folder, "--node", NODE,
                              "--live", "off", "--", machine.PYTHON,
                              HERE / "torch_load.py", seconds, *ways])
    return folder, programs.document(text.splitlines()[-1], "torch_load.py")


def record(session):
    if "load" not in session.shared:
        session.shared["load"] = loaded(session, "load", LOAD_S)
    return session.shared["load"]


def busiest(folder, name):
    return max(records.gauge(folder, NODE, name), default=None)


def load(session):
    folder, copied = record(session)
    names = ("gpu.utilization_percent", "gpu.clock_mhz", "gpu.max_clock_mhz", "gpu.temperature_c",
             "gpu.power_w", "gpu.busy_pcie_generation", "gpu.busy_pcie_width",
             "gpu.pcie_sent_bytes_per_s", "gpu.pcie_received_bytes_per_s")
    found = {name: busiest(folder, name) for name in names}
    missing = [name for name, value in found.items() if value is None]
    users = records.events(folder, NODE, "gpu-process")
    text = "; ".join(f"{name.removeprefix('gpu.')} {value:.4g}" for name, value in found.items()
                     if value is not None)
    return decide(not missing and found["gpu.utilization_percent"] > 30,
                  (f"missing: {', '.join(missing)}; " if missing else "") + "at most " + text +
                  f"; {len(users)} processes of the job seen on GPUs",
                  most=found, users=users, copied=copied)


def counted(folder, way):
    return sum(value * span / 1e9 for value, span in records.rows(
        folder, NODE, "SELECT s.value, s.bin_ns FROM gauge_sample s JOIN series n "
        "ON s.series = n.id WHERE n.name = ?", f"gpu.pcie_{way}_bytes_per_s"))


def pcie_bytes(session):
    """What the counters add up to beside what was copied, each way alone. They count packets whole:
    headers of 20 to 28 bytes on at most 256 of data, and for what the GPU fetches its requests."""
    words, figures = [], {}
    for way, there, back in (("to-gpu", "received", "sent"), ("from-gpu", "sent", "received")):
        folder, copied = loaded(session, way, ONE_WAY_S, way)
        copied_bytes = copied[f"{way.replace('-', '_')}_bytes"]
        figures[way] = {"copied": copied, "with_data": counted(folder, there) / copied_bytes,
                        "against": counted(folder, back) / copied_bytes}
        words.append(f"{way}: {there} {100 * figures[way]['with_data']:.1f} %, "
                     f"{back} {100 * figures[way]['against']:.1f} % of {copied_bytes / 1e9:.1f} GB")
    return decide(all(0.95 <= each["with_data"] <= 1.15 and each["against"] <= 0.15
                      for each in figures.values()), "; ".join(words), **figures)


def throttling(session):
    """Whatever slowed the GPU down, named and timed; nothing did is as good."""
    folder, _ = record(session)
    bits = records.gauge(folder, NODE, "gpu.throttle_reasons")
    told = records.events(folder, NODE, "gpu-throttled")
    slows = any(int(value) & 0xFC for value in bits)
    return decide(bool(bits) and slows == bool(told),
                  f"bits {sorted({int(value) for value in bits})}, "
                  f"{len(told)} events: {', '.join(detail for _, detail in told[:4]) or 'none'}",
                  bits=bits, events=told)


def nvlink(session):
    folder, _ = record(session)
    found = {name: busiest(folder, name) for name in NVLINK[:1]}
    if found["gpu.nvlink_active"] is None:
        raise Skipped("this GPU reports no NVLink")
    for name in NVLINK[1:]:
        values = records.rows(folder, NODE, "SELECT max(s.value) FROM counter_sample s JOIN "
                              "series n ON s.series = n.id WHERE n.name = ?", name)
        found[name] = values[0][0]
    return decide(True, ", ".join(f"{name.removeprefix('gpu.')} {value}"
                                  for name, value in found.items()), **found)
