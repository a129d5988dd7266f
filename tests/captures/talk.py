"""One TCP connection, seen from a tap: a speaks to b, and what the wire carried is counted along.

Bytes of either stream are named by their offset from the first one; times are in milliseconds. What
a capture's analysis has to find is the count of what was built, with what `expect` says of it;
whatever a function does not mention did not happen, and has to be found as 0.
"""

import packets as p

THERE, BACK = 0, 1
RTT_MS = 10
AT_ONCE_MS = 0.02
GAP_MS = 0.1
NEVER_UNLESS_SAID = (
    "retransmitted_packets", "retransmitted_bytes", "lost_before_tap", "out_of_order", "duplicates",
    "keep_alives", "zero_window_probes", "zero_windows", "window_full", "missing_bytes",
    "dsack_acks", "congestion_marks")
CLASSES_UNLESS_SAID = ("fast", "timeout", "probe", "unknown", "spurious")


class Side:
    def __init__(self, address, port, number, first_sequence):
        self.address, self.port, self.number = address, port, number
        self.first_sequence = first_sequence
        self.identity = 1000 * number
        self.window = 1 << 20
        self.got = 0           # what it has acknowledged
        self.times = {}        # the TSval of its segments by the offset they end at
        self.echo = 0          # the TSval it echoes
        self.counts = {"packets": 0, "frames": 0, "bytes": 0, "frame_bytes": 0, "payload_bytes": 0}
        self.expected = {}


class Talk:
    def __init__(self, tape, *, ipv6=False, mss=1460, timestamps=True, sack=True, scale=7,
                 ports=(40_000, 5001), first_sequences=(1_000_000, 5_000_000), frame=None,
                 hosts=(1, 2), at_receiver=False):
        form = "fd00::{}" if ipv6 else "10.0.0.{}"
        self.tape, self.ipv6, self.mss = tape, ipv6, mss
        self.timestamps, self.sack, self.scale = timestamps, sack, scale
        self.sides = [Side(form.format(host), port, host, first)
                      for host, port, first in zip(hosts, ports, first_sequences)]
        self.frame = frame or self.ethernet
        self.fields = {}
        self.is_udp = False
        self.answer_ms = AT_ONCE_MS if at_receiver else RTT_MS
        # What counts in front of IP, on the wire and at the tap, where it is not what stands there.
        self.link_bytes = self.tap_link_bytes = None

    @property
    def segment_bytes(self):
        return self.mss - (12 if self.timestamps else 0)

    def ethernet(self, packet, way):
        kind = p.IPV6 if self.ipv6 else p.IPV4
        return p.ethernet(packet, kind, self.sides[way].number, self.sides[1 - way].number)

    # What happens.

    def open(self, at=0.0):
        self.syn(at)
        self.syn_ack(at + self.answer_ms)
        self.ack(at + RTT_MS + 0.05, 0, way=THERE)
        return at + RTT_MS + 1

    def widen(self, at):
        """The receiver's program has made more room: a SYN cannot tell of more than 64 KiB."""
        self.ack(at, 0)

    def syn(self, at):
        self.segment(at, THERE, -1, 0, flags=p.SYN)

    def syn_ack(self, at):
        self.segment(at, BACK, -1, 0, flags=p.SYN | p.ACK)
        self.fields.setdefault("handshake_seen", True)

    def close(self, at, there, back=0):
        """`there`, `back`: how much each side had said."""
        self.segment(at, THERE, there, 0, flags=p.FIN | p.ACK)
        self.segment(at + RTT_MS, BACK, back, 0, flags=p.FIN | p.ACK, got=there + 1)
        self.ack(at + RTT_MS + 0.05, back + 1, way=THERE)

    def data(self, at, number, *, acked=True, way=THERE, **how):
        """The segment of this number, counted from 0, full size; and its acknowledgement."""
        size = self.segment_bytes
        self.segment(at, way, number * size, size, **how)
        if acked:
            self.ack(at + self.answer_ms, (number + 1) * size, way=1 - way)

    def bulk(self, at, numbers, **how):
        """Segments, one behind the other. Returns the time after the last one left."""
        for place, number in enumerate(numbers):
            self.data(at + place * GAP_MS, number, **how)
        return at + len(numbers) * GAP_MS

    def ack(self, at, upto, *, way=BACK, sack=(), **how):
        """`sack`: pairs of offsets."""
        self.segment(at, way, None, 0, got=upto, sack=sack, **how)

    def acks(self, at, number, *, sack=(), **how):
        """As ack(), in numbers of full segments."""
        size = self.segment_bytes
        self.ack(at, number * size, sack=[(begin * size, end * size) for begin, end in sack], **how)

    def segment(self, at, way, offset, length, passes=(0,), **how):
        """`offset`: nothing for the next byte that this side has not sent. `passes`: how much later
        it passes the tap, in ms; nothing where it does not, and twice where it was copied."""
        self.tape.at(at, lambda: self.build(at, way, offset, length, len(passes), **how), passes)

    def datagram(self, at, way, length):
        """Of UDP; a talk of these has no TCP."""
        self.is_udp = True
        self.tape.at(at, lambda: self.build_datagram(way, length))

    # What it looks like.

    def build(self, at, way, offset, length, times, flags=p.ACK, got=None, sack=(), window=None,
              marks=0):
        me, peer = self.sides[way], self.sides[1 - way]
        me.got = max(me.got, got or 0)
        if offset is None:
            offset = max(me.times, default=0)
        value = 10_000 * (way + 1) + int(at)
        if got is not None or flags & p.SYN:
            me.echo = peer.times.get(me.got if got is None else got, me.echo)
        me.times[offset + length + (1 if flags & (p.SYN | p.FIN) else 0)] = value
        options = self.options(flags, value, me.echo, sack, peer)
        answered = peer.first_sequence + 1 + (me.got if got is None else got)
        body = p.tcp(bytes(length), me.address, peer.address, (me.port, peer.port),
                     me.first_sequence + 1 + offset, answered if flags & p.ACK else 0,
                     flags | (p.PSH if length else 0), self.window_field(me, flags, window),
                     options)
        frame = self.frame(self.packet(body, me, peer, marks), way)
        segments = max(1, -(-length // (self.mss - len(options))))
        me.identity += segments
        self.count(me, frame, length, len(options), segments, times)
        return frame

    def build_datagram(self, way, length):
        me, peer = self.sides[way], self.sides[1 - way]
        body = p.udp(bytes(length), me.address, peer.address, me.port, peer.port)
        frame = self.ethernet(p.ipv4(body, me.address, peer.address, p.UDP), way)
        self.add(me, 1, 1, len(frame), len(frame), length)
        return frame

    def window_field(self, me, flags, window):
        shown = me.window if window is None else window
        scale = 0 if flags & p.SYN or self.scale is None else self.scale
        return min(shown >> scale, 65_535)

    def options(self, flags, value, echo, sack, peer):
        made = b""
        if flags & p.SYN:
            made += p.option_mss(self.mss) + (p.SACK_PERMITTED if self.sack else b"")
            made += p.option_scale(self.scale) if self.scale is not None else b""
        if self.timestamps:
            made += p.option_timestamps(value, echo if flags & p.ACK else 0)
        if sack:
            begin = peer.first_sequence + 1
            made += p.option_sack([(begin + left, begin + right) for left, right in sack])
        return made

    def packet(self, body, me, peer, marks):
        if self.ipv6:
            return p.ipv6(body, me.address, peer.address, marks=marks)
        return p.ipv4(body, me.address, peer.address, identity=me.identity, marks=marks)

    def count(self, me, frame, length, option_bytes, segments, times):
        """As the wire carried it: what is more than a segment was cut behind the tap."""
        ip = 40 if self.ipv6 else 20
        found = len(frame) - ip - 20 - option_bytes - length
        wire, tap = (found if known is None else known
                     for known in (self.link_bytes, self.tap_link_bytes))
        headers = ip + 20 + option_bytes
        self.add(me, times, segments, segments * (wire + headers) + length, tap + headers + length,
                 length)

    def add(self, me, times, segments, wire_bytes, frame_bytes, payload):
        for name, value in (("packets", segments), ("frames", 1), ("bytes", wire_bytes),
                            ("frame_bytes", frame_bytes), ("payload_bytes", payload)):
            me.counts[name] += times * value

    # What is to be found.

    def expect(self, there=None, back=None, **fields):
        self.sides[THERE].expected.update(there or {})
        self.sides[BACK].expected.update(back or {})
        self.fields.update(fields)

    def truth(self):
        return {"a": {"address": self.sides[THERE].address, "port": self.sides[THERE].port},
                "b": {"address": self.sides[BACK].address, "port": self.sides[BACK].port},
                "a_to_b": self.direction(self.sides[THERE]),
                "b_to_a": self.direction(self.sides[BACK]), **self.fields}

    def direction(self, side):
        if self.is_udp:
            return {**side.counts, **side.expected}
        unless_said = dict.fromkeys(NEVER_UNLESS_SAID, 0)
        classes = dict.fromkeys(CLASSES_UNLESS_SAID, 0)
        classes.update(side.expected.get("retransmissions", {}))
        return {**side.counts, **unless_said, **side.expected, "retransmissions": classes}
