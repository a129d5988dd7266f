"""probe udp: what is sent, lost, reordered and delayed, and who lost it."""

import signal

import gaps
from checks import between, holds, near, same
from lab import Way

PORT = 5210
PROBE = ["chokepoint", "probe", "udp"]
SERVE = ["chokepoint", "serve", "--insecure-open", "--quiet"]
PAYLOAD, FRAME = 1472, 1514


def linked(lab, **rates):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, **rates)
    right.serve(SERVE, PORT)
    return left, right, link


def wired(lab, there, back=None):
    left, right = lab.host("left"), lab.host("right")
    wire = lab.wire(left, right, there, back)
    right.serve(SERVE, PORT)
    return left, wire


def probe(host, *words, **how):
    return host.json([*PROBE, *words, "--json"], timeout=60, **how)


def hold_together(told):
    """Of one direction: every packet that was sent came or is lost."""
    same(told["packets_received"] + told["lost"], told["packets_sent"], "received and lost")
    same(told["bytes"], told["packets_received"] * PAYLOAD, "bytes received")
    holds(told["packets_sent"] > 0, "nothing was sent")


def measure_packets_are_as_even_on_the_wire_as_the_sender_says(lab):
    lab.needs("tcpdump")
    left, right, link = linked(lab)
    file = lab.folder / "paced.pcap"
    with gaps.captured(right, link.b.interface, "udp", file):
        told = probe(left, link.b.ipv4, "--rate", "50M", "--time", "2")
    same(told["pacing"], "program", "what paces")
    found = gaps.spacing(gaps.payloads(file), 50)
    same(found.burst_bytes, PAYLOAD, f"a burst of {found}")
    near(found.gap_ms, PAYLOAD * 8 / 50e3, 0.1, f"gap of {found}")
    between(found.bucket_bytes, PAYLOAD, told["burst"]["bucket_bytes"] + 4 * PAYLOAD,
            f"bucket of {found}, {told['burst']}")


def measure_both_ways_at_the_rate_asked_for(lab):
    left, _, link = linked(lab)
    told = probe(left, link.b.ipv4, "--both", "--rate", "20M", "--time", "1")
    for way in ("send", "receive"):
        hold_together(told[way])
        same(told[way]["lost"], 0, f"lost, {way}")
        holds(told[way]["offered_mbps"] < 20.2, f"{told[way]['offered_mbps']} Mb/s of 20 offered")
        holds(told[way]["limit"] in ("asked", "sender"), told[way]["summary"])
    holds(abs(told["clock_offset_ms"]) <= told["clock_uncertainty_ms"],
          "two hosts of one machine have one clock")


def test_no_byte_is_counted_that_the_interface_did_not_see(lab):
    left, _, link = linked(lab)
    before = link.b.counters()["received_packets"]
    told = probe(left, link.b.ipv6, "-6", "--rate", "10M", "--time", "0.5", "--bytes", "1000")
    seen = link.b.counters()["received_packets"] - before
    same(told["bytes"], told["packets_received"] * 1000, "bytes")
    same(told["peer"]["family"], "ipv6", "family")
    # Greetings, pings and the control connection come on top.
    between(seen, told["packets_received"], told["packets_received"] + 200, "packets seen")


def test_what_the_wire_loses_is_what_is_lost(lab):
    left, wire = wired(lab, Way(loss=0.02))
    before = wire.counters()["there"]["dropped_loss"]
    told = probe(left, wire.b.ipv4, "--rate", "20M", "--time", "1")
    dropped = wire.counters()["there"]["dropped_loss"] - before
    hold_together(told)
    between(told["lost"], dropped - 20, dropped, "lost of what the wire dropped")
    same(told["lost_in_receiver_queue"], 0, "lost by the receiver")
    same(told["limit"], "path", told["summary"])


def measure_the_clocks_are_known_as_well_as_it_says(lab):
    left, wire = wired(lab, Way(delay_ms=4), Way(delay_ms=11))
    told = probe(left, wire.b.ipv4, "--rate", "5M", "--time", "0.5")
    near(told["rtt_min_ms"], 15, 0.1, "round trip, ms")
    holds(abs(told["clock_offset_ms"]) <= told["clock_uncertainty_ms"], "the offset is 0")
    delay = told["one_way_delay_ms"]
    if delay is not None:
        near(delay["median"], 4, (told["clock_uncertainty_ms"] + 1) / 4, "delay there, ms")


def measure_a_search_finds_the_narrow_wire(lab):
    left, wire = wired(lab, Way(rate_mbps=50, queue_bytes=60_000))
    told = probe(left, wire.b.ipv4, "--time", "1")
    hold_together(told)
    # Far less only where the machine is so busy that the sender cannot keep its time.
    between(told["throughput_mbps"], 25, 50 * PAYLOAD / FRAME * 1.005, "of a line of 50 Mb/s")
    # The queue holds 10 ms. A sender that is kept from its processor for longer overfills it once.
    holds(told["loss_percent"] <= 1, f"{told['loss_percent']} % lost")
    holds(told["limit"] in ("path", "sender"), told["summary"])
    holds(told["search"]["failed_at_mbps"] > told["throughput_mbps"], "what failed is more")


def measure_a_full_interface_of_the_senders_own_is_named(lab):
    left, _, link = linked(lab, rate_mbps=20)
    told = probe(left, link.b.ipv4, "--rate", "60M", "--time", "1")
    hold_together(told)
    same(told["limit"], "sender-queue", told["summary"])


def test_packets_larger_than_the_mtu_go_one_by_one(lab):
    left, _, link = linked(lab)
    told = probe(left, link.b.ipv4, "--rate", "200M", "--time", "0.3", "--bytes", "3000")
    same(told["segmentation_offload"], False, "segmentation offload")
    same(told["bytes"], told["packets_received"] * 3000, "bytes received")
    holds(told["packets_received"] > 0, "nothing came")


def test_an_interrupt_keeps_what_was_measured(lab):
    left, right, link = linked(lab)
    client = left.start([*PROBE, link.b.ipv4, "--rate", "20M", "--time", "60", "--json"])
    client.until(lambda: link.b.counters()["received_packets"] > 1000, 20, "packets")
    client.signal(signal.SIGINT)
    same(client.wait(20), 130, "exit status")
    holds(client.document()["interrupted"], "the document does not say so")
    same(probe(left, link.b.ipv4, "--rate", "5M", "--time", "0.2")["lost"], 0, "lost afterwards")


def test_where_udp_does_not_pass_it_says_so(lab):
    left, right, link = linked(lab)
    right.ip("rule", "add", "pref", "10", "ipproto", "udp", "blackhole")
    client = left.run([*PROBE, link.b.ipv4, "--rate", "5M"], timeout=40, status=1)
    holds("firewall" in client.stderr(), f"no word on it: {client.stderr()}")

