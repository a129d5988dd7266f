"""What passes an interface of the lab, as `chokepoint capture` tells it.

    with Taps(lab, link.a, link.b, sender=link.a, receiver=link.b) as taps:
        …
    taps.told["sender"]["flows"][0]["a_to_b"]["retransmitted_packets"]

tcpdump writes files, which are read afterwards: so all places are watched by the same program at
little cost. The interfaces' own counters meanwhile are in taps.passed.
"""

import socket

import traffic
from kernel import Failed

SNAPSHOT_BYTES = 128
BUFFER_KIB = 65_536
MARK = b"nothing comes after this"
MARK_PORT = 9
TRIES = 50


class Taps:
    def __init__(self, lab, near, far, **ends):
        """`near`, `far`: whatever goes from this end to that one passes all taps. `ends`: the names
        of the taps, and where they are."""
        lab.needs("tcpdump")
        self.near, self.far, self.ends = near, far, ends
        self.files, self.dumps, self.before = {}, {}, {}
        self.told, self.passed = {}, {}

    def __enter__(self):
        for name, end in self.ends.items():
            self.before[name] = end.counters()
            self.files[name] = end.host.folder / f"{name}.pcap"
            self.dumps[name] = end.host.start(
                ["tcpdump", "-i", end.interface, "-s", SNAPSHOT_BYTES, "-B", BUFFER_KIB,
                 "--immediate-mode", "-U", "-Z", "root", "-w", self.files[name]])
        for dump in self.dumps.values():
            dump.until(lambda seen=dump: "listening on" in seen.stderr(), 10, "listening")
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.mark()
            for name, end in self.ends.items():
                self.dumps[name].stop()
                after = end.counters()
                self.passed[name] = {what: after[what] - self.before[name][what] for what in after}
                self.told[name] = end.host.json(["chokepoint", "capture", "-r", self.files[name],
                                                 "--json"])

    def mark(self):
        """All is seen when the last packet is; it is sent again where it got lost."""
        with (traffic.bound(self.near.host, self.near.ipv4) as sender,
              traffic.bound(self.far.host, self.far.ipv4, port=MARK_PORT) as receiver):
            receiver.settimeout(0.2)
            for _ in range(TRIES):
                sender.sendto(MARK, (self.far.ipv4, MARK_PORT))
                try:
                    receiver.recv(len(MARK))
                    break
                except socket.timeout:
                    pass
        for name, file in self.files.items():
            self.dumps[name].until(lambda path=file: ends_with_mark(path), 10, "the last packet")

    def flow(self, name):
        """The one TCP flow that a tap saw."""
        found = [flow for flow in self.told[name]["flows"] if flow["protocol"] == "tcp"]
        if len(found) != 1:
            raise Failed(f"{len(found)} TCP flows at the {name}'s tap")
        return found[0]


def ends_with_mark(path):
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        return MARK in file.read()
