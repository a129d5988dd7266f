"""Small traffic between hosts of a lab, by the standard library alone: pings and datagrams."""

import socket
import struct
import time

CHUNK = b"\0" * 65_536
SO_RCVBUFFORCE = 33


def bound(host, address, kind=socket.SOCK_DGRAM, port=0):
    """A socket of this host, which answers for one of its addresses."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with host.entered():
        made = socket.socket(family, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((address, port))
    return made


def ping(host, address, count, interval_s=0.01, timeout_s=1):
    """ICMP round trips to an IPv4 address in ms, None for one that got lost. All are sent in time,
    whatever comes back meanwhile."""
    with host.entered():
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    sent, times = [], [None] * count
    with raw:
        raw.connect((address, 0))
        for number in range(count):
            sent.append(time.monotonic())
            raw.send(echo_request(number))
            collect(raw, sent, times, sent[-1] + interval_s)
        collect(raw, sent, times, time.monotonic() + timeout_s)
    return times


def echo_request(number):
    unsummed = struct.pack("!BBHHH", 8, 0, 0, 0x10AB, number)
    total = sum(struct.unpack("!4H", unsummed))
    total = (total >> 16) + (total & 0xFFFF)
    return struct.pack("!BBHHH", 8, 0, ~(total + (total >> 16)) & 0xFFFF, 0x10AB, number)


def collect(raw, sent, times, until):
    while None in times[:len(sent)] or len(sent) < len(times):
        left = until - time.monotonic()
        if left <= 0:
            return
        raw.settimeout(left)
        try:
            reply = raw.recv(2048)
        except TimeoutError:
            return
        kind, _, _, identity, number = struct.unpack("!BBHHH", reply[20:28])
        if kind == 0 and identity == 0x10AB and number < len(sent):
            times[number] = (time.monotonic() - sent[number]) * 1000


def datagrams(sender, receiver, count, size=1000, per_second=20_000):
    """Sends numbered datagrams between two bound sockets; the numbers that arrived, in order."""
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 * size * count)
    began = time.monotonic()
    for number in range(count):
        sender.sendto(struct.pack("!I", number) + CHUNK[:size - 4], receiver.getsockname()[:2])
        ahead = number / per_second - (time.monotonic() - began)
        if ahead > 0.002:
            time.sleep(ahead)
    receiver.settimeout(0.5)
    arrived = []
    try:
        while True:
            arrived.append(struct.unpack("!I", receiver.recv(size)[:4])[0])
    except TimeoutError:
        return arrived


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
