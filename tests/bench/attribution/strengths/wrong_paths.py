"""A job on the wrong one of two ways, with and without probes of both before it."""

BASELINE = {"baseline": {"probes": ["tcp", "path"]}}


def two_links(management_mbps):
    return {"links": [
        {"name": "fast", "between": ["a", "b"], "there": {"rate_mbps": 10000}},
        {"name": "management", "between": ["a", "b"], "there": {"rate_mbps": management_mbps}}]}


PP = {"pattern": "pp", "bytes": 2_000_000, "pieces": 4}
ALL = {
    "wrong-interface-100": ("wrong-interface", {"topology": two_links(100),
                                                "job": {"bytes": 2_000_000}}),
    "wrong-interface-500": ("wrong-interface", {"topology": two_links(500),
                                                "job": {"bytes": 10_000_000}}),
    "wrong-interface-pp": ("wrong-interface", {"job": PP}),
    "wrong-host-name-pp": ("wrong-host-name", {"job": PP}),
    "wrong-interface-probed": ("wrong-interface", BASELINE),
    "wrong-interface-500-probed": ("wrong-interface", {
        **BASELINE, "topology": two_links(500), "job": {"bytes": 10_000_000}}),
    "wrong-host-name-probed": ("wrong-host-name", BASELINE),
    "ipv4-slow-probed": ("ipv4-slow", BASELINE),
    "ipv4-slow-100-probed": ("ipv4-slow", {**BASELINE, "fault": {"rate_mbps": 100},
                                           "job": {"bytes": 2_000_000}}),
    "ipv4-slow-500-probed": ("ipv4-slow", {**BASELINE, "fault": {"rate_mbps": 500},
                                           "job": {"bytes": 10_000_000}}),
    "ipv4-slow-pp-probed": ("ipv4-slow", {**BASELINE, "job": PP}),
    "lan-200mbps-probed": ("lan-200mbps", BASELINE),
    "lan-loss-probed": ("lan-loss", BASELINE),
    "wan-15ms-probed": ("wan-15ms", BASELINE),
    "clean-dp-probed": ("clean-dp", BASELINE),
}
