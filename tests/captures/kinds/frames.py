"""What frames can look like: tunnels, tags, fragments, links other than Ethernet, cut short."""

import struct

import packets as p
from talk import BACK, RTT_MS, THERE
from tape import COOKED2, RAW


def some_traffic(talk, segments=10):
    talk.bulk(talk.open(), range(segments))


def ipv6(tape):
    """The same transfer over IPv6, with a loss."""
    talk = tape.talk(ipv6=True, mss=1440)
    begin = talk.open()
    talk.bulk(begin, range(12), acked=False)
    talk.acks(begin + 10, 5)
    for place, number in enumerate(range(6, 12)):
        talk.acks(begin + 10.6 + place * 0.1, 5, sack=[(6, number + 1)])
    talk.data(begin + 10.85, 5, acked=False)
    talk.acks(begin + 20.85, 12)
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": talk.segment_bytes,
                       "retransmissions": {"fast": 1}})


def ipv6_with_extension_headers(tape):
    """Hop-by-hop and destination options stand between IPv6 and TCP."""
    talk = tape.talk(ipv6=True, mss=1424)
    padding = bytes((p.TCP, 0, 1, 4, 0, 0, 0, 0))

    def packet(body, me, peer, marks):
        return p.ipv6(body, me.address, peer.address, 60, marks, bytes((60,)) + padding[1:]
                      + padding)
    talk.packet = packet
    some_traffic(talk)


def fragments(tape):
    """A tunnel on the way has cut every full segment into three fragments of IP; only the first of
    them shows the ports."""
    talk = tape.talk()
    size = talk.segment_bytes
    begin = talk.open()
    for number in range(4):
        talk.data(begin + number, number)

    def fragmented(packet):
        body, identity = packet[20:], struct.unpack("!H", packet[4:6])[0]
        for first in range(0, len(body), 496):
            more = 0x2000 if first + 496 < len(body) else 0
            yield p.ipv4(body[first:first + 496], "10.0.0.1", "10.0.0.2", identity=identity,
                         fragment=first // 8 | more)
    tape.split = lambda frame: (
        [p.ethernet(piece, p.IPV4, 1, 2) for piece in fragmented(frame[p.ETHERNET_BYTES:])]
        if len(frame) > 1000 else [frame])
    pieces = -(-(32 + size) // 496)
    headers = p.ETHERNET_BYTES + 20
    talk.expect(there={"packets": 2 + 4 * pieces, "frames": 2 + 4 * pieces,
                       "bytes": 78 + 66 + 4 * (pieces * headers + 32 + size),
                       "frame_bytes": 78 + 66 + 4 * (pieces * headers + 32 + size),
                       "unique_bytes": 4 * size})


def tagged(tape, tags):
    talk = tape.talk(frame=lambda packet, way: p.ethernet(packet, p.IPV4, way + 1, 2 - way, tags))
    some_traffic(talk)


def vlan(tape):
    """Tagged with VLAN 42: four bytes more in each frame."""
    tagged(tape, ((p.VLAN, 42),))


def qinq(tape):
    """Tagged twice."""
    tagged(tape, ((p.QINQ, 100), (p.VLAN, 42)))


def linux_cooked_2(tape):
    """Captured on `any`: a made-up header of twenty bytes, where the wire had Ethernet's 14."""
    tape.link_type = COOKED2
    talk = tape.talk(frame=lambda packet, way: p.cooked2(packet, p.IPV4, way + 1, way == THERE))
    talk.link_bytes = talk.tap_link_bytes = p.ETHERNET_BYTES
    some_traffic(talk)


def raw_ip(tape):
    """Captured on a tunnel's device: there is no link header, nor is one counted."""
    tape.link_type = RAW
    talk = tape.talk(frame=lambda packet, way: packet)
    some_traffic(talk)


def vxlan(tape):
    """Inside VXLAN network 7, and the tunnels looked into."""
    def frame(packet, way):
        inner = p.ethernet(packet, p.IPV4, 10 + way, 11 - way)
        outer = p.udp(struct.pack("!II", 0x08000000, 7 << 8) + inner, f"192.168.0.{way + 1}",
                      f"192.168.0.{2 - way}", 55_555, 4789)
        return p.ethernet(p.ipv4(outer, f"192.168.0.{way + 1}", f"192.168.0.{2 - way}", p.UDP),
                          p.IPV4, way + 1, 2 - way)
    talk = tape.talk(mss=1410, frame=frame)
    some_traffic(talk)
    tape.flags = ["--decapsulate", "vxlan"]


def ethernet_padding(tape):
    """Acknowledgements of 54 bytes are padded to 60 by the NIC: no payload."""
    def frame(packet, way):
        made = p.ethernet(packet, p.IPV4, way + 1, 2 - way)
        return made + bytes(max(0, 60 - len(made)))
    talk = tape.talk(timestamps=False, frame=frame)
    some_traffic(talk)
    talk.expect(there={"payload_bytes": 10 * 1460}, back={"payload_bytes": 0})


def cut_to_96_bytes(tape):
    """A snapshot length of 96 bytes leaves the headers whole: nothing changes."""
    tape.snapshot_bytes = 96
    talk = tape.talk()
    some_traffic(talk)
    talk.expect(there={"rtt_ms": {"median": RTT_MS}, "unique_bytes": 10 * talk.segment_bytes})


def cut_inside_the_options(tape):
    """A snapshot length of 60 bytes ends among TCP's options: no timestamps, but the rest."""
    tape.snapshot_bytes = 60
    talk = tape.talk()
    some_traffic(talk)
    talk.expect(there={"rtt_ms": {"median": RTT_MS}, "timestamp_rtt_ms": None})


def congestion_marks(tape):
    """Every fourth of twelve segments is marked "congestion experienced" on the way to the tap, at
    the receiver, the others "capable"."""
    talk = tape.talk()
    begin = talk.open()
    for number in range(12):
        talk.data(begin + number * 0.1, number, marks=3 if number % 4 == 0 else 2)
    talk.expect(there={"congestion_marks": 3})


def nanoseconds_in_big_endian(tape):
    """A file of a big-endian machine, with nanoseconds; the round trip is 7 µs."""
    tape.byte_order, tape.nanoseconds = ">", True
    talk = tape.talk()
    begin = talk.open()
    for number in range(10):
        talk.data(begin + number, number, acked=False)
        talk.acks(begin + number + 0.007, number + 1)
    talk.expect(there={"rtt_ms": {"median": 0.007}})


def udp_in_both_directions(tape):
    """Datagrams, fifty there and ten back."""
    talk = tape.talk()
    for number in range(60):
        way = BACK if number % 6 == 5 else THERE
        talk.datagram(number * 0.5, way, 1000 - 100 * way)
    talk.expect(protocol="udp")
