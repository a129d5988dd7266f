"""What a wide-area path does to a job: the round trip, buffers below it, its rate, its loss."""

B_TO_A = {"from": "b", "to": "a", "direction": None}


def far(rtt_ms, rate_mbps=10000, loss=0.0):
    return {"there": {"rate_mbps": rate_mbps, "delay_ms": rtt_ms / 2, "loss": loss},
            "back": {"rate_mbps": rate_mbps, "delay_ms": rtt_ms / 2}}


def healthy(rtt_ms, rate_mbps=10000):
    return {"links": [{"name": "path", "between": ["a", "b"],
                       "there": {"rate_mbps": rate_mbps, "delay_ms": rtt_ms / 2}}]}


def sysctls(host, **buffers):
    return {"host": host, "sysctls": {f"net.ipv4.tcp_{name}": value
                                      for name, value in buffers.items()}}


ROUND_TRIPS = {"cause": "round-trips"}
FAR = {
    "wan-4ms": ("wan-15ms", {"fault": far(4), "job": {"bytes": 24_000_000, "compute_ms": 40}}),
    "wan-8ms": ("wan-15ms", {"fault": far(8)}),
    "wan-30ms": ("wan-15ms", {"fault": far(30), "job": {"bytes": 8_000_000}}),
    "wan-60ms": ("wan-15ms", {"fault": far(60), "job": {"bytes": 4_000_000, "compute_ms": 100}}),
    "wan-8ms-ddp": ("wan-15ms-ddp", {"fault": far(8)}),
    "wan-30ms-ddp": ("wan-15ms-ddp", {"fault": far(30), "job": {"depth": 1}}),
    "wan-5ms-tp": ("wan-40ms-tp", {"fault": far(5), "job": {"pieces": 8, "bytes": 32_000}}),
    "wan-12ms-tp": ("wan-40ms-tp", {"fault": far(12), "job": {"pieces": 4, "bytes": 64_000}}),
    "wan-20ms-pp": ("wan-40ms-tp", {"fault": far(20), "job": {"pattern": "pp", "pieces": 2,
                                                              "bytes": 100_000}}),
    "wan-50ms-pp": ("wan-40ms-tp", {"fault": far(50), "job": {"pattern": "pp", "pieces": 4,
                                                              "bytes": 400_000}}),
    "wan-6ms-small-dp": ("wan-15ms", {
        "fault": far(6), "job": {"bytes": 200_000, "pieces": 24, "compute_ms": 30},
        "truth": ROUND_TRIPS}),
}
BUFFERS = {
    "wan-rmem-128k": ("wan-small-rmem", {"fault": sysctls("b", rmem="4096 65536 131072"),
                                         "job": {"bytes": 2_000_000}}),
    "wan-rmem-512k-8ms": ("wan-small-rmem", {
        "topology": healthy(8), "fault": sysctls("b", rmem="4096 65536 524288"),
        "job": {"bytes": 12_000_000}}),
    "wan-rmem-of-a": ("wan-small-rmem", {"fault": sysctls("a", rmem="4096 65536 262144"),
                                         "job": {"bytes": 4_000_000}, "truth": B_TO_A}),
    "wan-wmem-128k": ("wan-small-wmem", {"fault": sysctls("a", wmem="4096 65536 131072"),
                                         "job": {"bytes": 2_000_000}}),
    "wan-wmem-forward": ("wan-small-wmem", {"job": {"forward_only": True, "bytes": 6_000_000}}),
    "wan-wmem-30ms": ("wan-small-wmem", {
        "topology": healthy(30), "fault": sysctls("a", wmem="4096 65536 400000"),
        "job": {"bytes": 3_000_000}}),
}
FULL = {
    "wan-100mbps-pp": ("wan-50mbps", {"fault": far(15, 100)}),
    "wan-200mbps-forward": ("wan-50mbps", {
        "fault": far(15, 200), "job": {"bytes": 8_000_000, "forward_only": True},
        "truth": {"from": "a", "to": "b", "direction": None}}),
    "wan-50mbps-dp": ("wan-50mbps", {"topology": healthy(6), "fault": far(6, 50), "job": {
        "pattern": "dp", "bytes": 2_000_000}}),
    "wan-100mbps-from-b": ("wan-50mbps", {
        "topology": healthy(6), "fault": {"there": {"rate_mbps": 10000, "delay_ms": 3},
                                          "back": {"rate_mbps": 100, "delay_ms": 3}},
        "job": {"pattern": "dp", "bytes": 3_000_000}, "truth": B_TO_A}),
}
LOSING = {
    "wan-loss-01": ("wan-loss", {"fault": far(15, 1000, 0.001), "job": {"bytes": 1_500_000}}),
    "wan-loss-1": ("wan-loss", {"fault": far(15, 1000, 0.01), "job": {"bytes": 500_000}}),
    "wan-loss-2-6ms": ("wan-loss", {"topology": healthy(6, 1000), "fault": far(6, 1000, 0.02),
                                    "job": {"bytes": 500_000}}),
    "wan-loss-30ms": ("wan-loss", {"topology": healthy(30, 1000), "fault": far(30, 1000, 0.005),
                                   "job": {"bytes": 400_000}}),
    "wan-loss-dp": ("wan-loss", {"topology": healthy(6, 1000), "fault": far(6, 1000, 0.005),
                                 "job": {"pattern": "dp", "bytes": 1_000_000}}),
    "wan-loss-from-b": ("wan-loss", {
        "fault": {"there": {"rate_mbps": 1000, "delay_ms": 7.5},
                  "back": {"rate_mbps": 1000, "delay_ms": 7.5, "loss": 0.005}},
        "job": {"bytes": 500_000}, "truth": B_TO_A}),
}
ALL = {**FAR, **BUFFERS, **FULL, **LOSING}
