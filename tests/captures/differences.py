"""Which rule of docs/internals/capture.md explains what tcptrace or tshark tell differently, by capture and
figure."""

SEGMENTS = dict.fromkeys(("packets", "bytes", "retransmitted"), "super-frames")
COPY = dict.fromkeys(("retransmitted", "sent_again_bytes"), "copies")
HOLE = dict.fromkeys(("retransmitted", "sent_again_bytes", "out_of_order"), "holes")
LINK = {"bytes": "link headers"}
FLAGS = dict.fromkeys(("retransmitted", "sent_again_bytes"), "SYN and FIN")

RULES = {
    "super_frames": SEGMENTS,
    "super_frame_sent_again": {**SEGMENTS, "rtt_ms": "round trips"},
    "big_tcp": SEGMENTS,
    "big_tcp_over_ipv6": SEGMENTS,
    "copied_by_the_network": COPY,
    "copied_by_the_capture": {**COPY, "packets": "copies", "bytes": "copies"},
    "reordering": HOLE,
    "reordering_without_identification": HOLE,
    "reordering_that_fools_the_sender": HOLE,
    "lost_before_the_tap": HOLE,
    "only_what_the_sender_sends": HOLE,
    "linux_cooked_2": LINK,
    "syn_sent_again": FLAGS,
    "fin_sent_again": FLAGS,
    "simultaneous_open": FLAGS,
    "partial_overlap": {"sent_again_bytes": "overlap"},
    "keep_alives": dict.fromkeys(("retransmitted", "sent_again_bytes"), "probes"),
    "fragments": dict.fromkeys(("packets", "bytes"), "fragments"),
    "ipv6_with_extension_headers": dict.fromkeys(
        ("retransmitted", "sent_again_bytes", "rtt_ms"), "formats"),
    "clock_stepping_back": {"rtt_ms": "clock"},
    "refused": {"rtt_ms": "round trips"},
    "window_full": {"rtt_ms": "round trips"},
    "first_segment_overtaken": {"rtt_ms": "round trips"},
    "both_directions_at_once": {"rtt_ms": "round trips"},
    "nanoseconds_in_big_endian": {"rtt_ms": "round trips"},
}
