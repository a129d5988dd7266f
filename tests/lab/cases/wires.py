"""The lab's wires do what they are asked: delay, rate, loss and cuts, each way apart."""

import math
import socket
import subprocess

import traffic
from checks import between, holds, same, soon
from lab import Way


def pair(lab, there, back=None, seed=1):
    left, right = lab.host("left"), lab.host("right")
    return left, right, lab.wire(left, right, there, back, seed)


def least_rtt(host, address, count=30):
    """In ms; the first ping is not like the others, for it asks for an address first."""
    times = [time for time in traffic.ping(host, address, count)[1:] if time is not None]
    holds(len(times) > count / 2, f"only {len(times)} of {count} pings came back")
    return min(times)


def measure_the_round_trip_is_both_delays(lab):
    # A busy machine wakes the relay late, so only the least round trip is the wire's own.
    late_ms = 1
    left, right, wire = pair(lab, Way(delay_ms=4), Way(delay_ms=11))
    between(least_rtt(left, wire.b.ipv4), 15, 15 + late_ms, "round trip from the left, ms")
    between(least_rtt(right, wire.a.ipv4), 15, 15 + late_ms, "round trip from the right, ms")
    wire.change(back=Way(delay_ms=1))
    between(least_rtt(left, wire.b.ipv4), 5, 5 + late_ms, "round trip after a change, ms")


def measure_rates_each_way_are_what_was_asked(lab):
    left, right, wire = pair(lab, Way(rate_mbps=100), Way(rate_mbps=20))
    lab.needs("iperf3")
    right.serve(["iperf3", "-s"], port=5201)
    for words, rate in ((["-t", "1"], 100), (["-t", "1", "-R"], 20)):
        told = left.json(["iperf3", "-c", wire.b.ipv6, "-J", *words])
        goodput = told["end"]["sum_received"]["bits_per_second"] / 1e6
        between(goodput, 0.85 * rate * 1428 / 1514, rate * 1428 / 1514 * 1.01, f"of {rate} Mb/s")


def test_loss_is_counted_where_it_happens(lab):
    left, right, wire = pair(lab, Way(), seed=5)
    least_rtt(left, wire.b.ipv4)  # so that no question for an address gets lost
    wire.change(there=Way(loss=0.02))
    before = wire.counters()["there"]
    with traffic.bound(left, wire.a.ipv4) as sender, traffic.bound(right, wire.b.ipv4) as receiver:
        arrived = traffic.datagrams(sender, receiver, 5000)
    lost = 5000 - len(arrived)
    deviation = math.sqrt(5000 * 0.02 * 0.98)
    between(lost, 100 - 5 * deviation, 100 + 5 * deviation, "datagrams lost of 5000 at 2 %")
    same(arrived, sorted(arrived), "the order")
    after = wire.counters()["there"]
    between(after["dropped_loss"] - before["dropped_loss"], lost, lost + 3, "counted as lost")
    same(wire.counters()["back"]["dropped_loss"], 0, "lost on the way back")


def test_orders_are_carried_out_frame_by_frame(lab):
    left, right, wire = pair(lab, Way())
    least_rtt(left, wire.b.ipv4)
    wire.change(there=Way(drop=(3, 4), duplicate=(6,), reorder=((1, 4),)))
    with traffic.bound(left, wire.a.ipv4) as sender, traffic.bound(right, wire.b.ipv4) as receiver:
        same(traffic.datagrams(sender, receiver, 8), [1, 4, 0, 5, 5, 6, 7], "numbers from zero")
        told = wire.counters()["there"]
        same([told["dropped_by_order"], told["duplicated"], told["held_back"]], [2, 1, 1], "told")
        wire.change(there=Way(drop=(1,)))
        same(traffic.datagrams(sender, receiver, 3), [1, 2], "counted from one after a change")


def test_frames_that_come_late_are_overtaken_and_none_is_lost(lab):
    left, right, wire = pair(lab, Way())
    least_rtt(left, wire.b.ipv4)
    wire.change(there=Way(late=0.1))
    with traffic.bound(left, wire.a.ipv4) as sender, traffic.bound(right, wire.b.ipv4) as receiver:
        arrived = traffic.datagrams(sender, receiver, 300, per_second=20_000)
        overtaken = sum(1 for before, after in zip(arrived, arrived[1:]) if after < before)
        same(sorted(arrived), list(range(300)), "all arrive")
        between(overtaken, 5, 60, "datagrams that others overtook")


def test_a_queue_holds_what_it_may_and_drops_the_rest(lab):
    left, right, wire = pair(lab, Way(rate_mbps=1, queue_bytes=50_000))
    least_rtt(left, wire.b.ipv4)
    with traffic.bound(left, wire.a.ipv4) as sender, traffic.bound(right, wire.b.ipv4) as receiver:
        arrived = traffic.datagrams(sender, receiver, 200, per_second=100_000)
    # 1042 bytes each: 47 fit, and some leave while the others arrive.
    between(len(arrived), 46, 60, "datagrams that found room")
    same(len(arrived) + wire.counters()["there"]["dropped_queue"], 200, "arrived and dropped")


def test_a_stream_passes_whole_through_super_frames_and_loss(lab):
    left, right, wire = pair(lab, Way(delay_ms=2))
    for there in (Way(delay_ms=2), Way(delay_ms=2, loss=0.001)):
        wire.change(there=there)
        sent = bytes(range(251)) * 40_000
        received = bytearray()
        with traffic.bound(right, wire.b.ipv4, socket.SOCK_STREAM) as listener:
            listener.listen()
            port = listener.getsockname()[1]
            sender = left.start(["python3", "-c", SEND, wire.b.ipv4, port])
            listener.settimeout(10)
            stream, _ = listener.accept()
            with stream:
                while chunk := stream.recv(1 << 20):
                    received += chunk
        same(sender.wait(10), 0, sender.told())
        holds(received == sent, f"{len(received)} bytes are not the {len(sent)} that were sent")


SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as stream:
    stream.sendall(bytes(range(251)) * 40_000)
"""


def test_a_cut_is_silent_and_an_unplugged_cable_is_seen(lab):
    left, _, wire = pair(lab, Way(delay_ms=1))
    least_rtt(left, wire.b.ipv4)
    wire.cut()
    same(traffic.ping(left, wire.b.ipv4, 3, timeout_s=0.1), [None] * 3, "pings over a cut wire")
    same(carrier(wire.a), "1", "carrier of a cut wire")
    wire.mend()
    least_rtt(left, wire.b.ipv4)
    wire.unplug()
    soon(lambda: carrier(wire.a) == carrier(wire.b) == "0", 5, "no carrier")
    wire.plug()
    soon(lambda: carrier(wire.a) == carrier(wire.b) == "1", 5, "carrier")
    least_rtt(left, wire.b.ipv4)


def carrier(end):
    return end.host.run(["cat", f"/sys/class/net/{end.interface}/carrier"]).stdout().strip()


def test_the_relay_ends_with_its_input(lab):
    _, _, wire = pair(lab, Way())
    wire.close()
    same(wire.relay.returncode, 0, "exit status of the relay")
    same(wire.a.host.ip("link", "show").count("to-right"), 0, "devices that are left")
    words = subprocess.run([*wire.relay.args, "there.speed=1"], capture_output=True, text=True)
    same(words.returncode, 1, "exit status of a relay that was told nonsense")
    holds("no such property" in words.stderr, words.stderr)
