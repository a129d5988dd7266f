"""Jobs that nothing holds back: what communication is left beside the computing is below what a
verdict would name."""

from strengths.changes import WELL


def link(name="lan", **way):
    return {"links": [{"name": name, "between": ["a", "b"], "there": way}]}


ALL = {
    "well-dp-8mb": ("clean-dp", {"job": {"bytes": 8_000_000, "compute_ms": 200, "pieces": 8}}),
    "well-dp-small": ("clean-dp", {"job": {"bytes": 1_000_000, "compute_ms": 100}}),
    "well-dp-ipv6": ("clean-dp", {"job": {"family": 6, "compute_ms": 120}}),
    "well-dp-1gbps": ("clean-dp", {"topology": link(rate_mbps=1000),
                                   "job": {"bytes": 4_000_000, "compute_ms": 300, "pieces": 16}}),
    "well-dp-100mbps": ("clean-dp", {"topology": link(rate_mbps=100),
                                     "job": {"bytes": 500_000, "compute_ms": 300, "pieces": 8}}),
    "well-dp-wan": ("clean-dp", {"topology": link(rate_mbps=10000, delay_ms=2),
                                 "job": {"bytes": 1_000_000, "compute_ms": 400, "pieces": 8}}),
    "well-dp-wan-1gbps": ("clean-dp", {"topology": link(rate_mbps=1000, delay_ms=3),
                                       "job": {"bytes": 500_000, "compute_ms": 450, "pieces": 8,
                                               "seconds": 6}}),
    "well-tp": ("clean-tp", {"job": {"compute_ms": 350}}),
    "well-tp-large": ("clean-tp", {"job": {"compute_ms": 400, "bytes": 128_000, "pieces": 3}}),
    "well-pp": ("clean-pp", {"job": {"compute_ms": 240, "pieces": 16}}),
    "well-pp-forward": ("clean-pp", {"job": {"compute_ms": 160, "forward_only": True}}),
    "well-dp-of-three": ("lan-switch-pp", {
        "fault": None, "truth": WELL,
        "job": {"pattern": "dp", "pieces": 8, "bytes": 2_000_000, "compute_ms": 220}}),
    "well-pp-of-three": ("lan-switch-pp", {
        "fault": None, "truth": WELL,
        "job": {"pieces": 16, "bytes": 1_000_000, "compute_ms": 240}}),
    "well-ddp": ("clean-ddp", {"job": {"width": 384, "batch": 4096}}),
    "well-ddp-wan": ("clean-ddp", {"topology": link(rate_mbps=10000, delay_ms=1.5),
                                   "job": {"width": 256, "depth": 3, "batch": 24000}}),
}
