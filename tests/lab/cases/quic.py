"""probe quic: what a path carries over QUIC, how long its handshakes take, and what limits it."""

import json
import signal

from checks import between, holds, near, same
from lab import Skipped, Way

PORT = 5210
PROBE = ["chokepoint", "probe", "quic"]
SERVE = ["chokepoint", "serve", "--insecure-open", "--quiet"]


def linked(lab, serve=SERVE, **rates):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, **rates)
    right.serve(serve, PORT)
    return left, right, link


def far(lab, there, back=None, serve=SERVE):
    left, right = lab.host("left"), lab.host("right")
    path = lab.path(left, right, there, back)
    right.serve(serve, PORT)
    return left, path


def probe(host, *words, **how):
    return host.json([*PROBE, *words, "--json"], timeout=90, **how)


def hold_together(told):
    """Of one direction: what arrived was sent, and nothing arrived that was not."""
    holds(told["bytes"] > 0, "nothing arrived")
    holds(told["bytes"] <= told["sent_bytes"], "more arrived than was sent")
    same(sum(each["bytes"] for each in told["per_stream"]), told["bytes"], "bytes of the streams")
    same(sum(each["bytes"] for each in told["intervals"]), told["bytes"], "bytes of the intervals")


def measure_a_limited_link_is_told_at_its_rate(lab):
    left, _, link = linked(lab, rate_mbps=200)
    for words in ((), ("--receive",), ("--streams", "4"), ("--segmentation", "off")):
        told = probe(left, link.b.ipv4, "--time", "3", *words)
        hold_together(told)
        between(told["throughput_mbps"], 0.80 * 200, 1.01 * 200, f"Mb/s with {words}")
        same(len(told["per_stream"]), told["streams"], "streams")
        same(told["segmentation"], "off" not in words, "segmentation")


def test_no_byte_is_counted_that_the_interface_did_not_see(lab):
    left, _, link = linked(lab)
    before = link.b.counters()["received_bytes"]
    told = probe(left, link.b.ipv6, "-6", "--rate", "50M", "--time", "1")
    seen = link.b.counters()["received_bytes"] - before
    hold_together(told)
    same(told["peer"]["family"], "ipv6", "family")
    same(told["sent_bytes"], told["bytes"], "bytes sent and received")
    # Headers, acknowledgements, handshakes and the control connection come on top.
    between(seen, told["bytes"], 1.2 * told["bytes"], "bytes seen")


def measure_both_ways_at_once(lab):
    left, _, link = linked(lab, rate_mbps=100)
    told = probe(left, link.b.ipv4, "--both", "--streams", "2", "--time", "3")
    ways = [told["send"], told["receive"]]
    for way in ways:
        hold_together(way)
        # The one that starts later meets the other's queue, and its window grows slowly.
        between(way["throughput_mbps"], 0.25 * 100, 1.01 * 100, "Mb/s, of one way")
    between(max(way["throughput_mbps"] for way in ways), 0.80 * 100, 1.01 * 100, "Mb/s")


def test_handshakes_take_the_round_trips_that_they_need(lab):
    left, path = far(lab, Way(delay_ms=20), Way(delay_ms=20), [*SERVE, "--perf"])
    told = probe(left, path.b.ipv4, "--time", "1")
    holds(told["early_data_accepted"], "0-RTT was refused")
    # One round trip each; two would be 80 ms.
    between(told["handshake_ms"], 40, 70, "handshake, ms")
    between(told["resumption_ms"], 40, 70, "resumption, ms")
    near(told["min_rtt_ms"], 40, 0.2, "round trip, ms")
    # The first one shows that the client's address is its own.
    told = probe(left, path.b.ipv4, "--peer-program", "perf", "--time", "0.5")
    between(told["handshake_ms"], 80, 120, "handshake with a Retry, ms")


def test_what_the_wire_loses_is_what_is_lost(lab):
    left, right = lab.host("left"), lab.host("right")
    wire = lab.wire(left, right, Way(loss=0.02, delay_ms=5), Way(delay_ms=5))
    right.serve(SERVE, PORT)
    before = wire.counters()["there"]["dropped_loss"]
    told = probe(left, wire.b.ipv4, "--time", "3")
    dropped = wire.counters()["there"]["dropped_loss"] - before
    hold_together(told)
    between(told["lost"], dropped - 20, dropped + 2, "lost of what the wire dropped")
    between(told["retransmits"], 0.7 * dropped, 1.5 * dropped + 20, "declared lost")
    same(told["limit"], "loss", told["summary"])


def test_marks_of_the_path_are_counted_and_named(lab):
    lab.needs("nft")
    left, right, link = linked(lab)
    # Every fiftieth packet, as a queue with ECN would.
    rules = right.folder / "marks.nft"
    rules.write_text("""table ip marks {
        counter marked { }
        chain arriving {
            type filter hook prerouting priority raw;
            meta l4proto udp ip ecn ect0 numgen inc mod 50 0 counter name marked ip ecn set ce
        }
        }
        """)
    if right.run(["nft", "-f", str(rules)], status=None).popen.returncode != 0:
        raise Skipped("this kernel has no nftables")
    # Joined packets would be counted as one.
    told = probe(left, link.b.ipv4, "--time", "1", "--segmentation", "off")
    marked = right.run(["nft", "-j", "list", "counters"]).stdout()
    # The handshakes came before the test began to count.
    between(told["ecn"]["received_ce"], counted(marked) - 3, counted(marked), "packets marked")
    near(told["ecn"]["received_ce"] + told["ecn"]["received_ect0"], told["ecn"]["sent_ect0"], 0.01,
         "packets marked and not")
    holds(told["limit"] in ("marks", "sender-cpu", "receiver-cpu"), told["summary"])


def counted(text):
    return next(each["counter"]["packets"] for each in json.loads(text)["nftables"]
                if "counter" in each)


def test_the_protocol_perf_in_both_roles(lab):
    left, _, link = linked(lab, serve=[*SERVE, "--perf"], rate_mbps=50)
    for words in (("--send",), ("--receive",), ("--send", "-6")):
        told = probe(left, link.b.ipv6 if "-6" in words else link.b.ipv4, "--peer-program", "perf",
                     "--time", "1", *words)
        between(told["throughput_mbps"], 0.7 * 50, 1.05 * 50, f"Mb/s with {words}")
        same(told["lost"], None, "what the server does not say")
        same(told["peer"]["software"], "perf", "the peer's program")


def test_a_client_of_perf_that_dies_keeps_nobody_out_for_long(lab):
    left, _, link = linked(lab, serve=[*SERVE, "--perf"], rate_mbps=50)
    perf = [*PROBE, link.b.ipv4, "--peer-program", "perf"]
    client = left.start([*perf, "--receive", "--rate", "1M", "--time", "60"])
    client.until(lambda: link.a.counters()["received_bytes"] > 500_000, 20, "data")
    client.signal(signal.SIGKILL)
    # A silent one is given up after ten seconds.
    left.run(["sh", "-c", f"for i in 1 2 3 4 5 6; do sleep 1; {' '.join(perf)} --time 0.3 && exit; "
              "done; exit 1"], timeout=60)


def test_a_server_of_perf_that_does_not_answer(lab):
    left, right, link = linked(lab, serve=[*SERVE, "--perf"])
    perf = [*PROBE, link.b.ipv4, "--peer-program", "perf"]
    client = left.run([*perf, "--port", "4444"], timeout=40, status=1)
    holds("connection refused; does a server" in client.stderr(), client.stderr())
    # What arrives is dropped before the table of the host's own addresses is looked at.
    right.ip("rule", "add", "pref", "20", "lookup", "local")
    right.ip("rule", "del", "pref", "0")
    right.ip("rule", "add", "pref", "10", "iif", link.b.interface, "ipproto", "udp", "blackhole")
    client = left.run(perf, timeout=40, status=1)
    holds("firewall" in client.stderr(), client.stderr())
    right.ip("rule", "del", "pref", "10")
    holds(probe(left, link.b.ipv4, "--peer-program", "perf", "--time", "0.3")["bytes"] > 0, "no test after")


def test_a_small_window_over_a_distance_is_named(lab):
    left, path = far(lab, Way(delay_ms=20), Way(delay_ms=20))
    told = probe(left, path.b.ipv4, "--window", "128K", "--time", "2")
    same(told["limit"], "flow-window", told["summary"])
    # A window each round trip.
    between(told["throughput_mbps"], 0.5 * 26, 1.1 * 26, "Mb/s")


def test_a_black_hole_for_large_packets_is_passed(lab):
    left, right, link = linked(lab)
    # The receiving end alone is set lower: it drops what is larger, and nobody tells the sender.
    # A veth takes a VLAN tag more than its MTU says.
    right.ip("link", "set", link.b.interface, "mtu", 1400 - 4)
    told = probe(left, link.b.ipv4, "--time", "2", "--segmentation", "off")
    hold_together(told)
    between(told["packet_bytes"], 1200, 1400 - 28, "payload of a packet")


def test_a_small_interface_keeps_segmentation(lab):
    left, right, link = linked(lab)
    for host, end in ((left, link.a), (right, link.b)):
        host.ip("link", "set", end.interface, "mtu", 1400)
    told = probe(left, link.b.ipv4, "--time", "1")
    hold_together(told)
    # What path MTU discovery sends is refused, of itself and not for being cut by the kernel.
    holds(told["refused"] > 0, "nothing was too large")
    holds(told["segmentation_offload"], "the kernel cuts no packets any more")


def test_an_interrupt_keeps_what_was_measured(lab):
    left, _, link = linked(lab, rate_mbps=50)
    client = left.start([*PROBE, link.b.ipv4, "--time", "60", "--json"])
    client.until(lambda: link.b.counters()["received_bytes"] > 3_000_000, 20, "data")
    client.signal(signal.SIGINT)
    same(client.wait(20), 130, "exit status")
    told = client.document()
    holds(told["interrupted"], "the document does not say so")
    holds(told["bytes"] > 1_000_000, "what was measured is gone")
    holds(probe(left, link.b.ipv4, "--time", "0.3")["bytes"] > 0, "the server takes no other test")


def test_where_udp_does_not_pass_it_says_so(lab):
    left, right, link = linked(lab)
    # Back: what the server sends has no route.
    right.ip("rule", "add", "pref", "10", "ipproto", "udp", "blackhole")
    client = left.run([*PROBE, link.b.ipv4], timeout=40, status=1)
    holds("firewall" in client.stderr(), f"no word on it: {client.stderr()}")
    right.ip("rule", "del", "pref", "10")
    # There: what arrives is dropped before the table of the host's own addresses is looked at.
    right.ip("rule", "add", "pref", "20", "lookup", "local")
    right.ip("rule", "del", "pref", "0")
    right.ip("rule", "add", "pref", "10", "iif", link.b.interface, "ipproto", "udp", "blackhole")
    client = left.run([*PROBE, link.b.ipv4], timeout=40, status=1)
    holds("firewall" in client.stderr(), f"no word on it: {client.stderr()}")


def test_no_server_and_one_without_quic(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right)
    client = left.run([*PROBE, link.b.ipv4], timeout=40, status=1)
    holds("is 'chokepoint serve' running there?" in client.stderr(), client.stderr())
    right.serve([*SERVE, "--offer", "tcp,udp"], PORT)
    client = left.run([*PROBE, link.b.ipv4], timeout=40, status=1)
    holds("does not offer it" in client.stderr(), client.stderr())


def test_a_wrong_key_is_refused(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right)
    keys = []
    for host, letter in ((left, "a"), (right, "b")):
        keys.append(lab.folder / f"{host.name}.key")
        keys[-1].write_text(letter * 32)
        keys[-1].chmod(0o600)
    right.serve(["chokepoint", "serve", "--quiet", "--key-file", str(keys[1])], PORT)
    client = left.run([*PROBE, link.b.ipv4, "--key-file", str(keys[0])], timeout=40, status=1)
    holds("key" in client.stderr(), client.stderr())
