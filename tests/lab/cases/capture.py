"""What the capture tells of a TCP stream, held against the sender's kernel, the interfaces, and the
wire that did what it was told."""

import pathlib
import signal

from checks import holds, near, same
from flows import agrees, oddities
from lab import Way
from taps import Taps
from transfers import Transfer

MEGABYTE = 1_000_000
BACK = Way(delay_ms=7.5)
CAP_NET_RAW = 13


def there(**how):
    """Half of a round trip of 15 ms."""
    return Way(delay_ms=7.5, **how)


def joined(lab, *ways):
    return lab.wire(lab.host("left"), lab.host("right"), *ways)


def watched(lab, link, count, **how):
    """One stream of so many bytes, from its SYN to the last acknowledgement of its end."""
    with Taps(lab, link.a, link.b, sender=link.a, receiver=link.b) as taps:
        with Transfer(link.a, link.b, **how) as done:
            done.send(count)
    return taps, done


def measure_a_clean_path_has_nothing_to_tell_but_its_round_trip(lab):
    """So far that what a busy machine adds to the round trip is little beside it."""
    way = Way(delay_ms=30)
    taps, transfer = watched(lab, joined(lab, way, way), 2 * MEGABYTE, send_buffer=200_000)
    for place in ("sender", "receiver"):
        same(oddities(taps.flow(place)), {}, f"at the {place}'s tap")
    flow = taps.flow("sender")
    agrees(flow, transfer)
    near(flow["a_to_b"]["rtt_ms"]["median"], transfer.median_rtt_ms(), 0.05, "round trip, ms")


def test_losses_drawn_at_random_are_counted_as_the_kernel_does(lab):
    way = Way(delay_ms=2, loss=0.005)
    taps, transfer = watched(lab, joined(lab, way, way), 6 * MEGABYTE)
    agrees(taps.flow("sender"), transfer)
    holds(transfer.final["total_retrans"] > 0, "nothing was lost")


def test_super_frames_that_are_lost_in_part_are_counted_in_segments(lab):
    left, router, right = lab.host("left"), lab.host("router"), lab.host("right")
    link = lab.link(left, router)
    wire = lab.wire(router, right, there(drop=(40, 41, 42, 300, 700, 701, 1500, 3000)), BACK)
    connect(left, link, router, wire, right)
    with Taps(lab, link.a, wire.b, sender=link.a, receiver=wire.b) as taps:
        with Transfer(link.a, wire.b) as transfer:
            transfer.send(6 * MEGABYTE)
    sender = taps.flow("sender")
    agrees(sender, transfer)
    holds(sender["a_to_b"]["frames"] < sender["a_to_b"]["packets"], "there were no super-frames")
    lost = wire.counters()["there"]["dropped_by_order"]
    same(sender["a_to_b"]["packets"], taps.flow("receiver")["a_to_b"]["packets"] + lost,
         "packets that were sent, and those that arrived or were lost")


def connect(left, first, router, second, right):
    router.forward()
    left.route(second.prefixes[0], first.b.ipv4)
    right.route(first.prefixes[0], second.a.ipv4)


def test_a_hole_in_the_midst_is_a_fast_retransmission_at_every_tap(lab):
    left, router, right = lab.host("left"), lab.host("router"), lab.host("right")
    wire = lab.wire(left, router, there(drop=(60, 61, 200)), BACK)
    link = lab.link(router, right)
    connect(left, wire, router, link, right)
    with Taps(lab, wire.a, link.b, sender=wire.a, middle=wire.b, receiver=link.b) as taps:
        with Transfer(wire.a, link.b) as transfer:
            transfer.send(MEGABYTE)
    lost = wire.counters()["there"]["dropped_by_order"]
    for place in ("sender", "middle", "receiver"):
        agrees(taps.flow(place), transfer, place)
        same(taps.flow(place)["a_to_b"]["retransmissions"]["fast"], lost, f"fast, {place}")
        same(taps.flow(place)["a_to_b"]["out_of_order"], 0, f"out of order, {place}")
        same(taps.flow(place)["a_to_b"]["lost_before_tap"], 0 if place == "sender" else lost,
             f"lost before the {place}'s tap")


def test_ipv6_has_no_identification_and_is_told_all_the_same(lab):
    link = joined(lab, there(drop=(60, 61, 200)), BACK)
    taps, transfer = watched(lab, link, MEGABYTE, ipv6=True)
    for place in ("sender", "receiver"):
        agrees(taps.flow(place), transfer, place)
        same(taps.flow(place)["a_to_b"]["retransmissions"]["fast"], 3, f"fast, {place}")


def test_a_lost_end_is_probed_for(lab):
    """The last two of eight: the probe is the last one again, and its report brings the other."""
    link = joined(lab, there(), BACK)
    with Taps(lab, link.a, link.b, sender=link.a, receiver=link.b) as taps:
        with Transfer(link.a, link.b) as transfer:
            transfer.send(100_000)
            link.change(there=there(drop=(7, 8)))
            transfer.send(8 * transfer.told()["snd_mss"])
    same(link.counters()["there"]["dropped_by_order"], 2, "dropped")
    agrees(taps.flow("sender"), transfer)
    causes = taps.flow("sender")["a_to_b"]["retransmissions"]
    same((causes["probe"], causes["fast"]), (1, 1), "probes and fast ones")
    # The probe is the first that the receiver's tap sees of the last segment: nothing old about it.
    same(oddities(taps.flow("receiver")), {"retransmitted_packets": 1, "lost_before_tap": 1},
         "at the receiver's tap")


def test_a_cut_is_waited_out_by_timeouts(lab):
    link = joined(lab, there(), BACK)
    with Taps(lab, link.a, link.b, sender=link.a) as taps, Transfer(link.a, link.b) as transfer:
        transfer.send(200_000)
        link.cut()
        transfer.start(400_000)
        transfer.until(lambda told: told["total_retrans"] >= 3, "retransmissions into the void")
        link.mend()
        transfer.send(100_000)
    flow = taps.flow("sender")
    agrees(flow, transfer)
    holds(flow["a_to_b"]["retransmissions"]["timeout"] >= 2, flow["a_to_b"]["retransmissions"])
    same(flow["a_to_b"]["retransmissions"]["fast"], 0, "fast retransmissions without a report")


def test_reordering_is_no_retransmission(lab):
    link = joined(lab, there(reorder=((15, 1), (40, 2), (90, 2))), BACK)
    taps, transfer = watched(lab, link, MEGABYTE)
    same(link.counters()["there"]["held_back"], 3, "held back")
    same(transfer.final["total_retrans"], 0, "sent again, says the kernel")
    same(oddities(taps.flow("sender")), {}, "at the sender's tap")
    same(oddities(taps.flow("receiver")), {"out_of_order": 3}, "at the receiver's tap")


def test_a_copy_is_no_retransmission(lab):
    link = joined(lab, there(duplicate=(15, 40, 90)), BACK)
    taps, transfer = watched(lab, link, MEGABYTE)
    same(transfer.final["total_retrans"], 0, "sent again, says the kernel")
    same(oddities(taps.flow("sender")), {}, "at the sender's tap")
    same(oddities(taps.flow("receiver")), {"duplicates": 3}, "at the receiver's tap")


def test_a_small_window_is_full_and_a_reader_that_stops_closes_it(lab):
    link = joined(lab, there(), BACK)
    with Taps(lab, link.a, link.b, sender=link.a) as taps:
        with Transfer(link.a, link.b, receive_buffer=65_536) as transfer:
            transfer.send(400_000)
            transfer.may_read.clear()
            transfer.start(400_000)
            transfer.until(lambda told: told["backoff"] >= 1, "a question whether it has opened")
            transfer.may_read.set()
            transfer.send(100_000)
    flow = taps.flow("sender")
    agrees(flow, transfer)
    holds(flow["a_to_b"]["window_full"] >= 2, f"window full {flow['a_to_b']['window_full']} times")
    holds(flow["a_to_b"]["zero_window_probes"] >= 1, "no question was seen")
    holds(flow["b_to_a"]["zero_windows"] >= 1, "no closed window was seen")


def measure_a_queue_in_the_path_shows_in_the_round_trip(lab):
    """A window larger than the path holds stands in the queue, as long as the transfer goes on."""
    link = joined(lab, there(rate_mbps=5, queue_bytes=MEGABYTE), BACK)
    taps, transfer = watched(lab, link, MEGABYTE // 2, receive_buffer=65_536)
    flow = taps.flow("sender")
    agrees(flow, transfer)
    holds(flow["a_to_b"]["rtt_ms"]["median"] > 60, f"no queue: {flow['a_to_b']['rtt_ms']}")
    near(flow["a_to_b"]["rtt_ms"]["median"], transfer.median_rtt_ms(), 0.05, "round trip, ms")


def quiet(link):
    """Nothing passes but what the test sends."""
    for end in (link.a, link.b):
        end.host.sysctls({f"net.ipv6.conf.{end.interface}.disable_ipv6": 1})


def passed(counters):
    return (counters["sent_bytes"] + counters["received_bytes"],
            counters["sent_packets"] + counters["received_packets"])


def test_volumes_are_those_of_the_interfaces_and_of_the_wire(lab):
    link = joined(lab, Way(), Way())
    quiet(link)
    payload = {}
    for offloads in (True, False):
        link.offload(offloads)
        before = on_the_wire(link)
        taps, transfer = watched(lab, link, 8 * MEGABYTE)
        carried = on_the_wire(link)
        for place in ("sender", "receiver"):
            told = taps.told[place]
            same((told["frame_bytes"], told["frames"]), passed(taps.passed[place]),
                 f"bytes and frames at the {place}'s interface, offloads {offloads}")
            same((told["bytes"], told["packets"]),
                 tuple(after - earlier for after, earlier in zip(carried, before)),
                 f"bytes and packets on the wire at the {place}'s tap, offloads {offloads}")
            payload[place, offloads] = taps.flow(place)["a_to_b"]["unique_bytes"]
        sender = taps.flow("sender")["a_to_b"]
        same(sender["frames"] < sender["packets"] / 2, offloads, f"super-frames: {sender}")
    same(set(payload.values()), {8 * MEGABYTE}, "payload")


def on_the_wire(link):
    """Bytes and segments that came out of it, both ways together."""
    told = link.counters()
    return tuple(told["there"][name] + told["back"][name] for name in ("bytes", "packets"))


def test_a_live_capture_tells_the_same_as_a_file(lab):
    link = joined(lab, there(drop=(60, 61, 200)), BACK)
    with Taps(lab, link.a, link.b, sender=link.a) as taps:
        watching = link.a.host.start(["chokepoint", "capture", "-i", link.a.interface, "--json"])
        watching.until(lambda: not may_capture(watching.pid), 10, "privileges given up")
        with Transfer(link.a, link.b) as transfer:
            transfer.send(MEGABYTE)
        watching.signal(signal.SIGINT)
        holds(watching.wait(10) in (0, 130), watching.told())
    told = watching.document()
    flow = next(one for one in told["flows"] if one["protocol"] == "tcp")
    agrees(flow, transfer)
    agrees(taps.flow("sender"), transfer)
    for way in ("a_to_b", "b_to_a"):
        same({name: flow[way][name] for name in COUNTS},
             {name: taps.flow("sender")[way][name] for name in COUNTS},
             f"live and from a file, {way}")
    same(told["dropped"], {"kernel": 0, "interface": 0}, "dropped")


COUNTS = ("packets", "frames", "bytes", "frame_bytes", "payload_bytes", "duplicate_acks",
          "retransmissions", "out_of_order", "duplicates", "max_in_flight_bytes", "sack_acks")


def may_capture(pid):
    """It gives this up once it captures."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    held = next(line for line in status if line.startswith("CapEff:"))
    return int(held.split()[1], 16) >> CAP_NET_RAW & 1
