"""Reading a file: chokepoint with one thread and two, tcptrace, tshark; and what flows cost."""

import shutil
import statistics

import files
import measured
from bench import alternate, ratio, spread
from lab import Failed

WANTED = {("chokepoint", "tcptrace"): 3, ("chokepoint --threads 2", "tcptrace"): 4}
WANTED_OF_TSHARK = 100
TSHARK = ["tshark", "-q", "-z", "conv,tcp", "-r"]
MOST_MEMORY_MB = 64
TSHARK_ROUNDS = 2
FEW_FLOWS, MANY_FLOWS, A_MILLION = 1_000, 61_000, 1_000_000


class Tool:
    def __init__(self, name, words):
        self.name, self.words = name, words


def tools(settings, path):
    capture = [settings.chokepoint, "capture", "-r", path, "--json", "--threads"]
    found = [Tool("chokepoint", [*capture, 1]), Tool("chokepoint --threads 2", [*capture, 2])]
    if shutil.which("tcptrace"):
        found.append(Tool("tcptrace", ["tcptrace", "-nlr", path]))
    return found


def trial(tool):
    cost = measured.run(tool.words)
    if cost.status != 0:
        raise Failed(f"{tool.name}: exit status {cost.status}")
    return cost.figures()


def reading(settings):
    path = files.traffic(settings.folder)
    packets = files.packets_in(path)
    floor = files.in_memory(path)
    trials = alternate(tools(settings, path), settings.pairs, trial)
    ratios = [compared(trials, ours, other, wanted) for (ours, other), wanted in WANTED.items()
              if other in trials]
    if shutil.which("tshark"):
        slow = alternate([tools(settings, path)[0], Tool("tshark", TSHARK + [path])],
                         min(TSHARK_ROUNDS, settings.pairs), trial)
        trials["tshark"] = slow["tshark"]
        ratios.append(compared(slow, "chokepoint", "tshark", WANTED_OF_TSHARK))
    return {"file": {"packets": packets, "bytes": path.stat().st_size, "read_s": round(floor, 4)},
            "tools": {name: summary(rounds, packets) for name, rounds in trials.items()},
            "ratios": ratios,
            "memory": memory(trials["chokepoint"] + trials["chokepoint --threads 2"]),
            "rounds": trials}


def summary(rounds, packets):
    return {"seconds": spread([one["seconds"] for one in rounds]), "rounds": len(rounds),
            "packets_per_s": round(packets / statistics.median(one["seconds"] for one in rounds)),
            "cpu_s": statistics.median(one["cpu_s"] for one in rounds),
            "memory_mb": max(one["memory_mb"] for one in rounds)}


def compared(trials, ours, other, wanted):
    """How many times as fast, round by round."""
    speeds = {name: [{"speed": 1 / one["seconds"]} for one in trials[name]]
              for name in (ours, other)}
    return {"ours": ours, **ratio(speeds, ours, "speed", wanted)}


def memory(rounds):
    most = max(one["memory_mb"] for one in rounds)
    return {"most_mb": most, "wanted_mb": MOST_MEMORY_MB, "met": most < MOST_MEMORY_MB}


def flows(settings):
    """A packet each: the time, the memory, and by how much it grows with a flow, as long as the
    table has room for all."""
    costs = {}
    for count in (FEW_FLOWS, MANY_FLOWS, A_MILLION):
        path = files.one_packet_flows(settings.folder, count)
        files.in_memory(path)
        words = [settings.chokepoint, "capture", "-r", path, "--threads", 1]
        rounds = [trial(Tool("chokepoint", words)) for _ in range(3)]
        costs[count] = {name: statistics.median(one[name] for one in rounds)
                        for name in ("seconds", "cpu_s", "memory_mb")}
    grown = costs[MANY_FLOWS]["memory_mb"] - costs[FEW_FLOWS]["memory_mb"]
    return {"counts": costs, "bytes_per_flow": round(grown * 1e6 / (MANY_FLOWS - FEW_FLOWS))}
