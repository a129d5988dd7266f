"""TCP over one stream and over four, and the most datagrams of 1472 bytes that get through."""

from bench import alternate, bench, ratio, say, spread
from tools import PAYLOAD_BYTES, Chokepoint, Iperf3, Nuttcp

TCP_WANTED = {1: 1.2, 4: 1.1}
UDP_WANTED = 3
MOST_LOSS_PERCENT = 0.1
SEARCH_STEPS = 7
SEARCH_TRIES = 2
SEARCH_SECONDS = 2
BACK_OFF = 0.9


# What makes iperf3 fast: its own words for sending without a copy, for dropping what arrives in the
# kernel (3.19), and for segmentation offload with UDP (3.21).
FAST = {"tcp": (["-Z"], ["-Z", "--skip-rx-copy"]), "udp": (["--gsro"],)}


def tools_of(at, kind):
    fast = [Iperf3(at, " ".join(["iperf3", *words]), words) for words in FAST[kind]
            if all(at.iperf3_knows(word) for word in words)]
    peers = [Iperf3(at), *fast, Nuttcp(at)]
    if at.has("probe", kind):
        return [Chokepoint(at), *peers]
    say(f"chokepoint has no 'probe {kind}' yet: the others alone are measured")
    return peers


def summed(trials, figure):
    return {name: {**spread([one[figure] for one in rounds]),
                   "busy_percent": spread([one["busy_percent"] for one in rounds])["median"],
                   "others_percent": max(one["others_percent"] for one in rounds),
                   "rounds": rounds} for name, rounds in trials.items()}


def tcp(settings):
    found = []
    with bench(settings) as at:
        for streams, wanted in TCP_WANTED.items():
            say(f"TCP, {streams} stream(s), {settings.pairs} rounds of {settings.seconds:g} s")
            trials = alternate(tools_of(at, "tcp"), settings.pairs,
                               lambda tool: tool.tcp(streams, settings.seconds))
            found.append({"streams": streams, "unit": "mbps", "tools": summed(trials, "mbps"),
                          "ratio": ratio(trials, "chokepoint", "mbps", wanted)})
    return found


def highest_clean_rate(tool, unlimited_mbps):
    """By bisection: the highest rate asked for that loses less than 0.1 %, the better of two tries,
    since a neighbour on the machine loses datagrams as well."""
    low, high = 0.0, unlimited_mbps
    for _ in range(SEARCH_STEPS):
        middle = (low + high) / 2
        clean = any(tool.udp(SEARCH_SECONDS, middle)["loss_percent"] < MOST_LOSS_PERCENT
                    for _ in range(SEARCH_TRIES))
        low, high = (middle, high) if clean else (low, middle)
    return low


def clean_trial(tool, rates, seconds):
    """At the rate that was found, less where it no longer holds. A tool that keeps none goes as fast
    as it can, and its loss is told."""
    if isinstance(tool, Chokepoint):
        return tool.udp(seconds)
    while True:
        one = tool.udp(seconds, rates[tool.name] or None)
        if one["loss_percent"] < MOST_LOSS_PERCENT or rates[tool.name] < 10:
            return one
        rates[tool.name] *= BACK_OFF


def udp(settings):
    with bench(settings) as at:
        tools = tools_of(at, "udp")
        rates, unlimited = {}, {}
        for tool in tools:
            if isinstance(tool, Chokepoint):
                continue
            unlimited[tool.name] = tool.udp(SEARCH_SECONDS)
            rates[tool.name] = highest_clean_rate(tool, unlimited[tool.name]["offered_mbps"])
            say(f"UDP: {tool.name} loses less than 0.1 % up to {rates[tool.name]:.0f} Mb/s")
        say(f"UDP, {PAYLOAD_BYTES} bytes, {settings.pairs} rounds of {settings.seconds:g} s")
        trials = alternate(tools, settings.pairs,
                           lambda tool: clean_trial(tool, rates, settings.seconds))
        against = {name: rounds for name, rounds in trials.items() if name != "nuttcp"}
        return {"payload_bytes": PAYLOAD_BYTES, "unit": "delivered_pps",
                "tools": summed(trials, "delivered_pps"), "unlimited": unlimited,
                "ratio": ratio(against, "chokepoint", "delivered_pps", UDP_WANTED)}
