"""One rank late by so much, in every pattern, and each rank once."""


def late(rank, late_ms, **job):
    return {"fault": {"options": {"late_rank": rank, "late_ms": late_ms}}, "job": job,
            "truth": {"rank": rank}}


ALL = {
    "late-30ms-dp": ("late-rank-dp", late(1, 30, compute_ms=40)),
    "late-60ms-dp": ("late-rank-dp", late(0, 60, bytes=8_000_000, pieces=8)),
    "late-300ms-dp": ("late-rank-dp", late(0, 300, compute_ms=100)),
    "late-150ms-dp-one-bucket": ("late-rank-dp", late(1, 150, pieces=1, bytes=1_000_000)),
    "late-30ms-tp": ("late-rank-tp", late(1, 30, compute_ms=60)),
    "late-200ms-tp": ("late-rank-tp", late(0, 200, pieces=8)),
    "late-60ms-pp-first": ("late-rank-pp", late(0, 60)),
    "late-150ms-pp-last": ("late-rank-pp", late(2, 150, pieces=4)),
    "late-100ms-pp-of-two": ("clean-pp", {
        "fault": {"kind": "job", "options": {"late_rank": 1, "late_ms": 100}},
        "truth": {"class": "straggler", "cause": "late-rank", "rank": 1}}),
    "late-60ms-ddp": ("late-rank-ddp", late(0, 60, width=768)),
    "late-300ms-ddp": ("late-rank-ddp", late(1, 300, depth=2)),
    "late-100ms-dp-of-three": ("late-rank-pp", late(2, 100, pattern="dp", pieces=4)),
    "late-40ms-tp-of-three": ("late-rank-pp", late(1, 40, pattern="tp", pieces=4, bytes=32_000)),
}
