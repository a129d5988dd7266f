"""Frames that stand for many: what a tap sees of a host whose NIC cuts and merges segments. The tap
is at the sender."""

import packets as p
from talk import RTT_MS, THERE


def super_frames(tape):
    """Offloads on: the sender's tap sees five frames of up to 64 KiB, and one of three segments and
    a bit, which the NIC cuts into segments of 1448 bytes."""
    talk = tape.talk()
    begin = talk.open()
    talk.widen(begin - 0.5)
    size = 44 * talk.segment_bytes
    for place in range(5):
        talk.segment(begin + place, THERE, place * size, size)
        talk.ack(begin + place + RTT_MS, (place + 1) * size)
    talk.segment(begin + 5, THERE, 5 * size, 3 * talk.segment_bytes + 100)
    talk.ack(begin + 5 + RTT_MS, 5 * size + 3 * talk.segment_bytes + 100)
    talk.expect(there={"packets": 2 + 5 * 44 + 4, "frames": 8, "rtt_ms": {"median": RTT_MS},
                       "unique_bytes": 5 * size + 3 * talk.segment_bytes + 100})


def super_frame_sent_again(tape):
    """Of a super-frame of twenty segments the middle four are lost behind the tap, and sent again
    as one frame."""
    talk = tape.talk()
    begin = talk.open()
    talk.widen(begin - 0.5)
    size = talk.segment_bytes
    talk.segment(begin, THERE, 0, 20 * size)
    talk.ack(begin + 10, 8 * size)
    for number in range(12, 20):
        talk.acks(begin + 10 + 0.05 * (number - 11), 8, sack=[(12, number + 1)])
    talk.segment(begin + 10.3, THERE, 8 * size, 4 * size)
    talk.acks(begin + 20.3, 20)
    talk.expect(there={"retransmitted_packets": 4, "retransmitted_bytes": 4 * size,
                       "retransmissions": {"fast": 4}})


def big_tcp(tape):
    """IPv4 frames beyond 64 KiB, whose length field is 0: the frame's own length tells."""
    big(tape, ipv6=False)


def big_tcp_over_ipv6(tape):
    """The same over IPv6, with the jumbo payload option, which leaves no trace on the wire."""
    big(tape, ipv6=True)


def big(tape, ipv6):
    talk = tape.talk(ipv6=ipv6, mss=1440 if ipv6 else 1460)
    talk.link_bytes = p.ETHERNET_BYTES
    begin = talk.open()
    talk.widen(begin - 0.5)
    size = 120 * talk.segment_bytes
    for place in range(3):
        talk.segment(begin + place, THERE, place * size, size)
        talk.ack(begin + place + RTT_MS, (place + 1) * size)
    talk.expect(there={"packets": 2 + 3 * 120, "frames": 5, "unique_bytes": 3 * size})
