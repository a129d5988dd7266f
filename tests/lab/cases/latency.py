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
    told = probe(left, wire.b.ipv4, "--idle", "0.5", "--time", "4", "--interval", "0.2",
                 "--streams", "2", "--congestion", "cubic")
    between(told["bufferbloat_send_ms"], 10, 150, "added by the queue there, ms")
    holds(told["bufferbloat_send_ms"] > 2 * told["bufferbloat_receive_ms"],
          f"added back: {told['bufferbloat_receive_ms']} ms")
    holds(told["rpm_send"] < told["rpm_receive"], f"{told['rpm_send']}, {told['rpm_receive']} RPM")
    same(told["rpm"], told["rpm_send"], "RPM is the worse one")
    between(told["load_send"]["throughput_mbps"], 5, 21, "load there, Mb/s")
    holds(told["bloat_send"] in ("some", "much"), told["summary"][0])


def rpm_of_its_parts(told):
    """By the formula of draft-ietf-ippm-responsiveness-09."""
    foreign = 60_000 / ((told["tcp_ms"] + told["handshake_ms"] + told["request_ms"]) / 3)
    return (foreign + 60_000 / told["self_ms"]) / 2


def measure_responsiveness_is_the_queues_and_the_buffers(lab):
    # 100 ms of queue there, then 5 ms; the sender's buffer as it is, then kept short.
    deep = Way(rate_mbps=20, queue_bytes=250_000)
    left, _, wire = wired(lab, deep, Way(rate_mbps=200, queue_bytes=50_000))

    def send():
        told = probe(left, wire.b.ipv4, "--idle", "0.2", "--time", "6", "--interval", "0.3",
                     "--congestion", "cubic", "--both", "--streams", "2")
        is_ = told["responsiveness_both"]
        near(is_["rpm"], rpm_of_its_parts(is_), 0.001, "RPM")
        same(told["rpm"], is_["rpm"], "RPM")
        near(is_["self_ms"] - is_["self_path_ms"], is_["self_buffer_ms"], 0.01, "in the buffer, ms")
        return is_

    bloated = send()
    for part in ("tcp_ms", "handshake_ms", "request_ms"):
        between(bloated[part], 40, 130, part)
    between(bloated["self_path_ms"], 20, 130, "path within the load, ms")
    holds(bloated["self_ms"] > bloated["self_path_ms"], f"{bloated}")
    for each in left, wire.b.host:
        each.sysctls({"net.ipv4.tcp_notsent_lowat": 4_096})
    short = send()
    holds(short["self_buffer_ms"] < 0.8 * bloated["self_buffer_ms"], f"{bloated}, {short}")
    wire.change(there=Way(rate_mbps=20, queue_bytes=12_500))
    managed = send()
    holds(managed["foreign_rpm"] > 3 * bloated["foreign_rpm"], f"{bloated}, {managed}")


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


def test_an_interrupt_under_load_keeps_what_was_measured(lab):
    left, _, wire = wired(lab, Way(rate_mbps=20))
    client = left.start([*PROBE, wire.b.ipv4, "--idle", "0.1", "--interval", "0.2", "--time", "60",
                         "--json"])
    client.until(lambda: wire.counters()["there"]["bytes"] > 3_000_000, 20, "a load")
    client.signal(signal.SIGINT)
    same(client.wait(20), 130, "exit status")
    told = client.document()
    holds(told["interrupted"], "the document does not say so")
    between(told["load_send"]["throughput_mbps"], 1, 21, "load, Mb/s")
    same(told["load_receive"], None, "load back")
