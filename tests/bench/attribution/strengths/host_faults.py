"""What a host does to a job: small buffers, too little processor, a NIC in a narrow slot."""

A_TO_B = {"from": "a", "to": "b"}
B_TO_A = {"from": "b", "to": "a"}


def sysctls(host, **buffers):
    return {"host": host, "sysctls": {f"net.ipv4.tcp_{name}": value
                                      for name, value in buffers.items()}}


def slot(rate_mbps, speed_gts, width, most_width=8):
    return {"slot": {"speed_gts": speed_gts, "width": width, "max_speed_gts": 8.0,
                     "max_width": most_width, "speed_mbps": 10000},
            "there": {"rate_mbps": rate_mbps}}


BUFFERS = {
    "lan-rmem-32k": ("lan-small-rmem", {"fault": sysctls("b", rmem="4096 16384 32768")}),
    "lan-rmem-16k-of-a": ("lan-small-rmem", {"fault": sysctls("a", rmem="4096 8192 16384"),
                                             "job": {"bytes": 3_000_000}, "truth": B_TO_A}),
    "lan-rmem-pp": ("lan-small-rmem", {"job": {"pattern": "pp", "bytes": 3_000_000, "pieces": 4,
                                               "forward_only": True}}),
    "lan-wmem-32k": ("lan-small-wmem", {"fault": sysctls("a", wmem="4096 16384 32768"),
                                        "job": {"bytes": 16_000_000}}),
    "lan-wmem-of-b": ("lan-small-wmem", {"fault": sysctls("b", wmem="4096 16384 16384"),
                                         "truth": B_TO_A}),
    "lan-wmem-pp": ("lan-small-wmem", {"job": {"pattern": "pp", "bytes": 8_000_000, "pieces": 4,
                                               "forward_only": True}}),
}
PROCESSORS = {
    "receiver-quota-2": ("receiver-quota", {"fault": {"share": 0.02, "period_ms": 60},
                                            "job": {"bytes": 48_000_000}}),
    "receiver-quota-4": ("receiver-quota", {"fault": {"share": 0.04},
                                            "job": {"pieces": 8, "compute_ms": 40}}),
    "sender-quota-10": ("sender-quota", {"fault": {"share": 0.1}, "job": {"bytes": 48_000_000}}),
    "sender-quota-12": ("sender-quota", {"fault": {"share": 0.12}, "job": {"compute_ms": 40}}),
    "receiver-taken-low": ("receiver-taken", {"fault": {"nice": -14}, "job": {"pieces": 8}}),
    "receiver-taken-high": ("receiver-taken", {"fault": {"nice": -18},
                                               "job": {"bytes": 48_000_000}}),
    "sender-taken-low": ("sender-taken", {"fault": {"nice": -10}, "job": {"compute_ms": 40}}),
    "sender-taken-high": ("sender-taken", {"fault": {"nice": -14}, "job": {"bytes": 48_000_000}}),
}
SLOTS = {
    "narrow-slot-of-a": ("narrow-slot", {"fault": {"host": "a"}, "truth": {"interface": "to-b"}}),
    "slow-slot": ("narrow-slot", {"fault": slot(3200, 5.0, 1, 16), "job": {"bytes": 40_000_000},
                                  "truth": {"cause": "pcie-width"}}),
    "narrow-slot-pp": ("narrow-slot", {"job": {"pattern": "pp", "pieces": 8,
                                               "bytes": 16_000_000}}),
    "narrow-slot-ddp": ("narrow-slot", {"job": {
        "program": "ddp", "width": 2048, "depth": 2, "batch": 16, "pattern": None, "bytes": None,
        "compute_ms": None}}),
}
ALL = {**BUFFERS, **PROCESSORS, **SLOTS}
