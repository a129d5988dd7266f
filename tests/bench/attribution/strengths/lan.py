"""What a local link does to a job: full, shared, losing, cut, or far for many small messages."""


def rate(rate_mbps, back_mbps=None):
    there = {"there": {"rate_mbps": rate_mbps}}
    return {**there, "back": {"rate_mbps": back_mbps}} if back_mbps else there


def loss(there, back=0, rate_mbps=1000):
    return {"there": {"rate_mbps": rate_mbps, "delay_ms": 0.1, "loss": there},
            "back": {"rate_mbps": rate_mbps, "delay_ms": 0.1, "loss": back}}


def delay(delay_ms):
    return {"there": {"rate_mbps": 10000, "delay_ms": delay_ms}}


A_TO_B = {"from": "a", "to": "b", "direction": None}
B_TO_A = {"from": "b", "to": "a", "direction": None}
ONE_GBPS = {"links": [{"name": "lan", "between": ["a", "b"],
                       "there": {"rate_mbps": 1000, "delay_ms": 0.1}}]}

FULL = {
    "lan-100mbps": ("lan-200mbps", {"fault": rate(100), "job": {"bytes": 2_000_000}}),
    "lan-300mbps-one-bucket": ("lan-200mbps", {"fault": rate(300), "job": {"pieces": 1}}),
    "lan-500mbps-8mb": ("lan-200mbps", {"fault": rate(500), "job": {"bytes": 8_000_000}}),
    "lan-1gbps-dp": ("lan-200mbps", {"fault": rate(1000),
                                     "job": {"bytes": 16_000_000, "compute_ms": 40, "pieces": 8}}),
    "lan-2gbps-dp": ("lan-200mbps", {"fault": rate(2000), "job": {"bytes": 24_000_000}}),
    "lan-200mbps-much-computing": ("lan-200mbps", {"job": {"compute_ms": 140,
                                                           "bytes": 6_000_000}}),
    "lan-100mbps-from-b": ("lan-asymmetric", {"fault": rate(10000, 100),
                                              "job": {"bytes": 2_000_000}}),
    "lan-300mbps-from-a": ("lan-asymmetric", {"fault": rate(300, 10000), "truth": A_TO_B}),
    "lan-300mbps-ddp": ("lan-1gbps-ddp", {"fault": rate(300),
                                          "job": {"width": 1024, "depth": 2}}),
    "lan-500mbps-ddp": ("lan-1gbps-ddp", {"fault": rate(500),
                                          "job": {"width": 1024, "depth": 3}}),
    "lan-300mbps-pp": ("lan-1gbps-pp", {"fault": rate(300),
                                        "job": {"bytes": 4_000_000, "pieces": 4}}),
    "lan-500mbps-pp-forward": ("lan-1gbps-pp", {
        "fault": rate(500), "job": {"bytes": 8_000_000, "forward_only": True}, "truth": A_TO_B}),
    "lan-200mbps-tp": ("lan-200mbps", {
        "fault": rate(200), "job": {"pattern": "tp", "bytes": 500_000, "pieces": 3}}),
    "lan-500mbps-tp": ("lan-200mbps", {
        "fault": rate(500), "job": {"pattern": "tp", "bytes": 1_500_000, "pieces": 2}}),
    "lan-switch-pp-first": ("lan-switch-pp", {"fault": {"link": "lan-a"},
                                              "truth": {"from": "a", "to": "b"}}),
    "lan-switch-dp": ("lan-switch-pp", {
        "job": {"pattern": "dp", "bytes": 3_000_000, "pieces": 4},
        "truth": {"from": None, "to": None, "direction": None, "node": "c"}}),
}
SHARED = {
    "competing-2-streams": ("competing", {"fault": {"streams": 2}, "job": {"bytes": 6_000_000}}),
    "competing-8-streams": ("competing", {"fault": {"streams": 8}}),
    "competing-from-b": ("competing", {"fault": {"host": "b"}, "truth": B_TO_A}),
    "competing-pp": ("competing", {"job": {"pattern": "pp", "bytes": 2_000_000, "pieces": 4}}),
    "competing-ddp": ("competing", {"job": {
        "program": "ddp", "width": 1024, "depth": 1, "batch": 64, "pattern": None, "bytes": None,
        "compute_ms": None}}),
}
LOSING = {
    "lan-loss-02": ("lan-loss", {"fault": loss(0.002), "job": {"bytes": 6_000_000}}),
    "lan-loss-05": ("lan-loss", {"fault": loss(0.005)}),
    "lan-loss-2": ("lan-loss", {"fault": loss(0.02), "job": {"bytes": 2_000_000}}),
    "lan-loss-from-b": ("lan-loss", {"fault": loss(0, 0.01), "truth": B_TO_A}),
    "lan-loss-pp": ("lan-loss", {"job": {"pattern": "pp", "bytes": 2_000_000, "pieces": 4}}),
    "lan-loss-tp": ("lan-loss", {"job": {"pattern": "tp", "bytes": 300_000, "pieces": 4}}),
    "lan-loss-ddp": ("lan-loss", {"fault": loss(0.01), "job": {
        "program": "ddp", "width": 1024, "depth": 1, "batch": 16, "pattern": None, "bytes": None,
        "compute_ms": None}}),
    "cut-1s": ("cut", {"fault": {"until_s": 3}, "job": {"seconds": 6}}),
    "cut-pp": ("cut", {"fault": {"from_s": 1, "until_s": 2.5},
                       "job": {"pattern": "pp", "bytes": 1_000_000, "seconds": 6}}),
    "flap-a": ("flap", {"fault": {"host": "a", "from_s": 1.5, "until_s": 2.5},
                        "truth": {"interface": "to-b"}}),
    "flap-2s": ("flap", {"fault": {"until_s": 4}, "job": {"seconds": 7}}),
}
FAR = {
    "lan-latency-06": ("lan-latency-tp", {"fault": delay(0.3), "job": {"pieces": 32}}),
    "lan-latency-1": ("lan-latency-tp", {"fault": delay(0.5)}),
    "lan-latency-48-layers": ("lan-latency-tp", {"fault": delay(0.7),
                                                 "job": {"pieces": 48, "bytes": 4000}}),
    "lan-latency-dp": ("lan-latency-tp", {
        "fault": delay(0.8), "job": {"pattern": "dp", "bytes": 512_000, "pieces": 64,
                                     "compute_ms": 20}}),
}
ALL = {**FULL, **SHARED, **LOSING, **FAR}
