"""Two faults at once, of which the larger one is the truth. The lesser one is there in the twin,
too: so what the larger one costs is the difference."""


def late(late_ms, rank=1):
    return {"late_rank": rank, "late_ms": late_ms}


def link(name="lan", **way):
    return {"links": [{"name": name, "between": ["a", "b"], "there": way}]}


ALL = {
    "mix-late-on-slow-link": ("late-rank-dp", {
        "topology": link(rate_mbps=500),
        "fault": {"options": late(200)}}),
    "mix-slow-link-and-late": ("lan-200mbps", {
        "job": {**late(30), "bytes": 6_000_000}, "fault": {"there": {"rate_mbps": 200}}}),
    "mix-late-on-far-path": ("late-rank-dp", {
        "topology": link(rate_mbps=10000, delay_ms=3), "fault": {"options": late(250)}}),
    "mix-far-path-and-late": ("wan-15ms", {"job": late(30)}),
    "mix-loss-and-late": ("lan-loss", {"job": late(30),
                                       "fault": {"there": {"rate_mbps": 1000, "delay_ms": 0.1,
                                                           "loss": 0.02}}}),
    "mix-competing-and-late": ("competing", {"job": {**late(25), "bytes": 6_000_000}}),
    "mix-late-tp-and-latency": ("late-rank-tp", {
        "topology": link(rate_mbps=10000, delay_ms=0.5), "fault": {"options": late(200, 0)}}),
    "mix-wmem-and-late-pp": ("wan-small-wmem", {"job": {**late(40), "bytes": 4_000_000}}),
    "mix-slow-pp-and-late": ("lan-1gbps-pp", {"job": late(40)}),
    "mix-late-and-loss": ("late-rank-dp", {
        "topology": link(rate_mbps=1000, delay_ms=0.1, loss=0.001),
        "fault": {"options": late(250)}}),
}
