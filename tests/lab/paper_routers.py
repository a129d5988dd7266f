"""A path of routers that exist on paper only, behind a TUN interface of a host: each answers an
IPv4 packet whose TTL runs out at it with an ICMP error, as late and as briefly as it is told to.
For what the kernel's own routers never do. One thread reads and answers.

    with Routers(host, "10.99.0.9", hops=6, quoted=8) as routers:
        host.run(["traceroute", "-n", routers.target])
"""

import fcntl
import os
import select
import struct
import threading
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
EXPIRED, UNREACHABLE, PORT = 11, 3, 3
IP_HEADER = 20


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packed(address):
    return bytes(int(part) for part in address.split("."))


def icmp_error(kind, code, source, about, quoted):
    """From `source` to whoever sent the packet it is about, of which so much is quoted."""
    quote = about[:IP_HEADER + quoted]
    body = struct.pack("!BBHI", kind, code, 0, 0) + quote + bytes(len(quote) % 2)
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, IP_HEADER + len(body), 0, 0, 64, 1, 0,
                         source, about[12:16])
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + body


class Routers:
    def __init__(self, host, target, hops, quoted, delay_s=0.03):
        """`hops` counts the target."""
        self.target, self.hops, self.quoted, self.delay_s = target, hops, quoted, delay_s
        with host.entered():
            self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(self.tun, TUNSETIFF, struct.pack("16sH", b"paper", IFF_TUN | IFF_NO_PI))
        host.ip("address", "add", "10.98.0.1/32", "dev", "paper")
        host.ip("link", "set", "paper", "up")
        host.ip("route", "add", target, "dev", "paper", "src", "10.98.0.1")
        self.over = False
        self.thread = threading.Thread(target=self.answer, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()
        os.close(self.tun)

    @staticmethod
    def router(ttl):
        return f"10.98.{ttl}.2"

    def answer(self):
        due = []
        while not self.over:
            readable = select.select([self.tun], [], [], 0.005)[0]
            if readable:
                packet = os.read(self.tun, 65536)
                if packet[0] == 0x45 and packet[16:20] == packed(self.target):
                    due.append((time.monotonic() + self.delay_s, self.answer_to(packet)))
            while due and due[0][0] <= time.monotonic():
                os.write(self.tun, due.pop(0)[1])

    def answer_to(self, packet):
        ttl = packet[8]
        if ttl >= self.hops:
            return icmp_error(UNREACHABLE, PORT, packed(self.target), packet, self.quoted)
        return icmp_error(EXPIRED, 0, packed(self.router(ttl)), packet, self.quoted)
