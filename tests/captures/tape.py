"""A capture in the making: what passed a tap, and when; written as pcap or pcapng.

What happens is noted in any order with its time in milliseconds; the packets are built in the order
of time, so that identifications, acknowledgements and timestamps come out as they would have.
"""

import struct

from talk import Talk

START_S = 1_700_000_000
ETHERNET, RAW, COOKED2 = 1, 101, 276


class Tape:
    def __init__(self):
        self.events = []
        self.frames = []
        self.talks = []
        self.expected = {}
        self.link_type = ETHERNET
        self.snapshot_bytes = 262_144
        self.interfaces = 1
        self.byte_order = "<"
        self.nanoseconds = False
        # What the capturing host's clock was wrong by at a time; both in ms.
        self.clock_error = lambda at: 0
        # What becomes of a frame on its way: it may come as several.
        self.split = lambda frame: [frame]
        # Flags of the command that the capture asks for.
        self.flags = []
        # Which interfaces saw a packet, and how much later than the first, in ms.
        self.seen_at = ((0, 0),)

    def talk(self, **how):
        talk = Talk(self, **how)
        self.talks.append(talk)
        return talk

    def at(self, time_ms, build, passes=(0,)):
        """`build()` returns the frame that is sent then; it passes the tap so much later, once for
        each of `passes`."""
        self.events.append((time_ms, build, passes))

    def expect(self, **fields):
        """Of the document as a whole."""
        self.expected.update(fields)

    def record(self):
        """Everything that was noted happens now."""
        passed = []
        for time_ms, build, passes in sorted(self.events, key=lambda event: event[0]):
            pieces = self.split(build())
            passed += [(time_ms + later_ms, piece) for later_ms in passes for piece in pieces]
        for time_ms, frame in sorted(passed, key=lambda one: one[0]):
            for interface, later_ms in self.seen_at:
                stamp_ms = time_ms + later_ms + self.clock_error(time_ms)
                self.frames.append((START_S * 10**9 + round(stamp_ms * 1e6), interface, frame))

    def truth(self):
        return {**self.expected, "flows": [talk.truth() for talk in self.talks]}

    def bytes(self):
        return self.pcapng() if self.interfaces > 1 else self.pcap()

    def pcap(self):
        magic, unit = (0xA1B23C4D, 1) if self.nanoseconds else (0xA1B2C3D4, 1000)
        order = self.byte_order
        parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, self.snapshot_bytes,
                             self.link_type)]
        for stamp_ns, _, frame in self.frames:
            kept = frame[:self.snapshot_bytes]
            parts += [struct.pack(order + "IIII", stamp_ns // 10**9, stamp_ns % 10**9 // unit,
                                  len(kept), len(frame)), kept]
        return b"".join(parts)

    def pcapng(self):
        parts = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
        for _ in range(self.interfaces):
            parts.append(block(1, struct.pack("<HHI", self.link_type, 0, self.snapshot_bytes)))
        for stamp_ns, interface, frame in self.frames:
            stamp, kept = stamp_ns // 1000, frame[:self.snapshot_bytes]
            parts.append(block(6, struct.pack("<IIIII", interface, stamp >> 32, stamp & 0xFFFFFFFF,
                                              len(kept), len(frame)) + kept))
        return b"".join(parts)


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)
