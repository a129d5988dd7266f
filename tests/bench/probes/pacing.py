"""A rate that is asked for, against what left: by the tool's own word, and by the counters of the
interface it arrived at."""

from bench import bench, say
from tools import PAYLOAD_BYTES, Chokepoint, Iperf3

RATES_MBPS = (1, 10, 100, 1000, 2000, 5000, 10000)
SECONDS = 3
MOST_OFF_PERCENT = 0.5
HEADER_BYTES = 14 + 20 + 8


def off_percent(found, asked):
    return 100 * (found / asked - 1)


def one(tool, rate_mbps):
    before = tool.bench.link.b.counters()
    told = tool.udp(SECONDS, rate_mbps)
    after = tool.bench.link.b.counters()
    packets = after["received_packets"] - before["received_packets"]
    payload = after["received_bytes"] - before["received_bytes"] - packets * HEADER_BYTES
    document = told.get("told", {})
    seconds = document.get("duration_s") or SECONDS
    return {"asked_mbps": rate_mbps, "offered_mbps": told["offered_mbps"],
            "offered_off_percent": off_percent(told["offered_mbps"], rate_mbps),
            "delivered_mbps": told["delivered_pps"] * PAYLOAD_BYTES * 8 / 1e6,
            "loss_percent": told["loss_percent"],
            "interface_mbps": payload * 8 / seconds / 1e6,
            "largest_burst": {name: value for name, value in document.items() if "burst" in name}}


def pacing(settings):
    with bench(settings) as at:
        tools = [Iperf3(at)]
        if at.has("probe", "udp"):
            tools.insert(0, Chokepoint(at))
        else:
            say("chokepoint has no 'probe udp' yet: iperf3 alone is paced")
        found = {}
        for tool in tools:
            say(f"pacing, {tool.name}")
            found[tool.name] = [one(tool, rate) for rate in RATES_MBPS]
        ours = found.get("chokepoint", [])
        return {"tools": found, "wanted_percent": MOST_OFF_PERCENT,
                "met": bool(ours) and all(abs(rate["offered_off_percent"]) <= MOST_OFF_PERCENT
                                          for rate in ours)}
