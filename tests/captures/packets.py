"""Headers, byte by byte: as much of Ethernet, IP, UDP and TCP as the captures of the tests need.

Pure functions from fields to bytes. Checksums are right, so that what reads the files has no
reason to doubt them.
"""

import struct

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
TCP, UDP = 6, 17
IPV4, IPV6, VLAN, QINQ = 0x0800, 0x86DD, 0x8100, 0x88A8
MOST_IP_BYTES = 65_535
ETHERNET_BYTES = 14


def words(text):
    """The bytes of an address of either family."""
    if ":" not in text:
        return bytes(map(int, text.split(".")))
    head, _, tail = text.partition("::")
    left, right = ([int(word, 16) for word in part.split(":") if word] for part in (head, tail))
    return struct.pack("!8H", *left, *[0] * (8 - len(left) - len(right)), *right)


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF


def mac(host):
    return bytes((2, 0, 0, 0, 0, host))


def ethernet(packet, kind, source, destination, tags=()):
    """`tags`: (kind, network) from the outermost."""
    head = mac(destination) + mac(source)
    for tag, network in tags:
        head += struct.pack("!HH", tag, network)
    return head + struct.pack("!H", kind) + packet


def cooked2(packet, kind, source, outgoing):
    return struct.pack("!HHIHBB8s", kind, 0, 3, 1, 4 if outgoing else 0, 6,
                       mac(source) + b"\0\0") + packet


def ipv4(payload, source, destination, protocol=TCP, identity=0, marks=0, fragment=0):
    """`fragment`: the offset in eights, 0x2000 for more to come. Beyond 64 KiB the length is 0, as
    the kernel has it in BIG TCP."""
    length = 20 + len(payload)
    flags = fragment if fragment else 0x4000
    head = struct.pack("!BBHHHBBH4s4s", 0x45, marks, length if length <= MOST_IP_BYTES else 0,
                       identity & 0xFFFF, flags, 64, protocol, 0, words(source), words(destination))
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def ipv6(payload, source, destination, protocol=TCP, marks=0, options=b""):
    """`options`: whole extension headers, each naming its next one but for `protocol` in the first,
    which is put there. Beyond 64 KiB a jumbo payload option is added, as the kernel does."""
    following = protocol
    if len(payload) > MOST_IP_BYTES:
        options = struct.pack("!BBBBI", protocol, 0, 0xC2, 4, len(payload) + 8)
    if options:
        following = 0
        options = bytes((protocol,)) + options[1:]
    length = len(options) + len(payload)
    head = struct.pack("!IHBB16s16s", 6 << 28 | marks << 20,
                       length if length <= MOST_IP_BYTES else 0, following, 64,
                       words(source), words(destination))
    return head + options + payload


def pseudo_header(source, destination, protocol, length):
    if ":" in source:
        return words(source) + words(destination) + struct.pack("!IHBB", length, 0, 0, protocol)
    return words(source) + words(destination) + struct.pack("!BBH", 0, protocol, length & 0xFFFF)


def udp(payload, source, destination, source_port, destination_port):
    length = 8 + len(payload)
    head = struct.pack("!HHHH", source_port, destination_port, length, 0)
    total = checksum(pseudo_header(source, destination, UDP, length) + head + payload)
    return head[:6] + struct.pack("!H", total or 0xFFFF) + payload


def tcp(payload, source, destination, ports, sequence, acknowledgement, flags, window, options):
    options += b"\1" * (-len(options) % 4)
    head = struct.pack("!HHIIBBHHH", *ports, sequence & 0xFFFFFFFF, acknowledgement & 0xFFFFFFFF,
                       (20 + len(options)) << 2, flags, window, 0, 0) + options
    total = checksum(pseudo_header(source, destination, TCP, len(head) + len(payload))
                     + head + payload)
    return head[:16] + struct.pack("!H", total) + head[18:] + payload


def option_mss(size):
    return struct.pack("!BBH", 2, 4, size)


def option_scale(shift):
    return struct.pack("!BBBB", 1, 3, 3, shift)


SACK_PERMITTED = b"\1\1\4\2"


def option_timestamps(value, echo):
    return struct.pack("!BBBBII", 1, 1, 8, 10, value & 0xFFFFFFFF, echo & 0xFFFFFFFF)


def option_sack(blocks):
    head = struct.pack("!BBBB", 1, 1, 5, 2 + 8 * len(blocks))
    return head + b"".join(struct.pack("!II", begin & 0xFFFFFFFF, end & 0xFFFFFFFF)
                           for begin, end in blocks)
