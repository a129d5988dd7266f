"""probe latency: round trips idle, under load, and what the queue between them adds."""

import signal

from checks import between, holds, near, same
from lab import Way

PORT = 5210
PROBE = ["chokepoint", "probe", "latency"]
SERVE = ["chokepoint", "serve", "--insecure-open", "--quiet"]


def wired(lab, there, back=None):
    left, right = lab.host("left"), lab.host("right")
    wire = lab.wire(left, right, there, back)
    right.serve(SERVE, PORT)
    return left, right, wire


def probe(host, *words):
    return host.json([*PROBE, *words, "--json"], timeout=60)


def measure_idle_it_is_the_round_trip(lab):
    left, _, wire = wired(lab, Way(delay_ms=4), Way(delay_ms=11))
    for address in (wire.b.ipv4, wire.b.ipv6):
        told = probe(left, address, "--idle-only", "--idle", "0.5")
        near(told["idle_ms"]["median"], 15, 0.2, "round trip over TCP, ms")
        near(told["udp"]["idle_ms"]["median"], 15, 0.2, "round trip over UDP, ms")
        holds(told["idle_ms"]["min"] >= 15, f"{told['idle_ms']['min']} ms is faster than the wire")
        same(told["udp"]["idle_loss_percent"], 0, "lost, %")
        same(told["rpm"], None, "RPM without load")


def measure_a_long_queue_is_found_on_the_way_that_has_it(lab):
    # 50 ms of queue at 20 Mb/s there, and 2 ms back.
    left, _, wire = wired(lab, Way(rate_mbps=20, queue_bytes=125_000),
                          Way(rate_mbps=200, queue_bytes=50_000))
    told = probe(left, wire.b.ipv4, "--idle", "0.5", "--time", "4", "--connections", "2",
                 "--congestion", "cubic")
    between(told["bufferbloat_send_ms"], 10, 150, "added by the queue there, ms")
    holds(told["bufferbloat_send_ms"] > 2 * told["bufferbloat_receive_ms"],
          f"added back: {told['bufferbloat_receive_ms']} ms")
    holds(told["rpm_send"] < told["rpm_receive"], f"{told['rpm_send']}, {told['rpm_receive']} RPM")
    same(told["rpm"], told["rpm_send"], "RPM is the worse one")
    between(told["load_send"]["throughput_mbps"], 5, 21, "load there, Mb/s")
    holds(told["bloat_send"] in ("some", "much"), told["summary"][0])


def test_without_udp_it_says_so_and_goes_on(lab):
    left, right, wire = wired(lab, Way())
    right.ip("rule", "add", "pref", "10", "ipproto", "udp", "blackhole")
    told = probe(left, wire.b.ipv4, "--idle-only", "--idle", "0.2")
    same(told["udp"], None, "round trips over UDP")
    holds("firewall" in told["udp_problem"], told["udp_problem"])
    holds(told["idle_ms"]["count"] > 0, "nothing over TCP either")


def test_an_interrupt_keeps_what_was_measured(lab):
    left, _, wire = wired(lab, Way())
    before = wire.counters()["there"]["packets"]
    client = left.start([*PROBE, wire.b.ipv4, "--idle", "60", "--json"])
    client.until(lambda: wire.counters()["there"]["packets"] > before + 200, 20, "pings")
    client.signal(signal.SIGINT)
    same(client.wait(20), 130, "exit status")
    holds(client.document()["interrupted"], "the document does not say so")
