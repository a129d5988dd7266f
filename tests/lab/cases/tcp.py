"""What a path carries over TCP, held against what the lab made it carry."""

import gaps
from checks import between, carried, holds, near, same
from wires import Way

PROBE = ["chokepoint", "probe", "tcp", "--json", "--congestion", "cubic"]


def hosts(lab):
    return lab.host("left"), lab.host("right")


def serve(host):
    host.serve(["chokepoint", "serve", "--insecure-open"], port=5210)


def probe(link, *flags):
    return link.a.host.json([*PROBE, link.b.ipv4, *flags], timeout=60)


def far(lab, **there):
    """15 ms of round trip."""
    link = lab.wire(*hosts(lab), there=Way(delay_ms=7.5, **there), back=Way(delay_ms=7.5))
    serve(link.b.host)
    return link


def test_both_ends_and_the_interface_agree_on_what_passed(lab):
    link = lab.link(*hosts(lab))
    serve(link.b.host)
    before = link.b.counters()["received_bytes"]
    told = probe(link, "--bytes", "200MB", "--streams", "3")
    passed = link.b.counters()["received_bytes"] - before
    same(told["sent_bytes"], 200_000_000, "sent")
    same(told["received_bytes"], 200_000_000, "received")
    between(passed, 200_000_000, 215_000_000, "bytes at the interface")


def measure_a_limited_link_is_told_at_its_rate_and_named_for_its_queue(lab):
    link = lab.link(*hosts(lab), rate_mbps=100)
    serve(link.b.host)
    told = probe(link, "--time", "4", "--omit", "1")
    carried(told["throughput_mbps"], 95.6, "throughput")
    same(told["limit"], "queue", "limit")


def measure_an_asymmetric_path_is_told_each_way(lab):
    link = lab.wire(*hosts(lab), there=Way(rate_mbps=100, delay_ms=7.5),
                    back=Way(rate_mbps=400, delay_ms=7.5))
    serve(link.b.host)
    there = probe(link, "--time", "4", "--omit", "1")
    back = probe(link, "--time", "4", "--omit", "1", "--receive")
    carried(there["throughput_mbps"], 95.6, "there")
    carried(back["throughput_mbps"], 382, "back")
    for told in (there, back):
        near(told["rtt_ms"]["min"], 15, 0.2, "round trip")
        near(sum(told["limited_by"].values()), 1, 0.001, "shares")
        holds(told["max_cwnd_bytes"] > 100_000, "no congestion window was seen")


def measure_loss_on_a_wide_area_path_is_named(lab):
    link = far(lab, rate_mbps=1000, loss=0.001, queue_bytes=16_000_000)
    told = probe(link, "--time", "4")
    same(told["limit"], "loss", f"limit ({told['summary']})")
    holds(told["retransmits"] > 0, "no retransmission was seen")
    lost = link.counters()["there"]["dropped_loss"]
    near(told["retransmits"], lost, 0.3, "retransmissions against losses")


def measure_rare_loss_on_a_wide_area_path_is_named_too(lab):
    link = far(lab, rate_mbps=1000, loss=0.0001, queue_bytes=16_000_000)
    told = probe(link, "--time", "6", "--streams", "2")
    same(told["limit"], "loss", f"limit ({told['summary']})")
    same(told["sent_bytes"], told["received_bytes"], "bytes")
    holds(told["throughput_mbps"] < 900, "the loss did not show")


def measure_a_small_receive_window_over_a_distance_is_named_with_its_host(lab):
    left, right = hosts(lab)
    right.sysctls({"net.ipv4.tcp_rmem": "4096 65536 131072"})
    link = lab.wire(left, right, there=Way(delay_ms=7.5), back=Way(delay_ms=7.5))
    serve(right)
    told = probe(link, "--time", "3")
    same(told["limit"], "receive-window", f"limit ({told['summary']})")
    holds("tcp_rmem" in told["summary"], told["summary"])
    # A window a round trip and no more: what is offered bounds what is carried.
    holds(told["throughput_mbps"] < 131072 * 8 / 0.015 / 1e6, told["throughput_mbps"])


def test_a_small_send_buffer_over_a_distance_is_named(lab):
    left, right = hosts(lab)
    left.sysctls({"net.ipv4.tcp_wmem": "4096 65536 131072"})
    link = lab.wire(left, right, there=Way(delay_ms=7.5), back=Way(delay_ms=7.5))
    serve(right)
    told = probe(link, "--time", "3")
    same(told["limit"], "send-buffer", f"limit ({told['summary']})")


def measure_the_pace_asked_for_is_kept_and_no_finding(lab):
    link = lab.link(*hosts(lab))
    serve(link.b.host)
    told = probe(link, "--time", "2", "--rate", "50M")
    carried(told["throughput_mbps"], 50, "throughput")
    same(told["limit"], "asked", "limit")


def measure_tcps_own_timer_keeps_the_pace_on_the_wire(lab):
    lab.needs("tcpdump")
    link = lab.link(*hosts(lab))
    serve(link.b.host)
    file = lab.folder / "paced.pcap"
    with gaps.captured(link.b.host, link.b.interface, "tcp", file):
        told = probe(link, "--time", "2", "--rate", "50M")
    same(told["pacing"], "timer", "what paces")
    gaps.check_paced(gaps.payloads(file), 50)


def test_ipv6_and_both_ways_at_once(lab):
    link = lab.link(*hosts(lab), rate_mbps=50)
    serve(link.b.host)
    told = link.a.host.json([*PROBE, link.b.ipv6, "--both", "--time", "3"], timeout=60)
    same(told["peer"]["family"], "ipv6", "family")
    for way in ("send", "receive"):
        between(told[way]["throughput_mbps"], 25, 50 * 1428 / 1514, way)
