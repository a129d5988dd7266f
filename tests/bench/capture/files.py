"""The files that are read: real traffic of iperf3 between two hosts, and made-up flows of a packet
each. Made once, and kept beside the figures."""

import ipaddress
import pathlib
import struct
import time

from bench import say
from lab import Failed, Lab

PACKETS = 2_050_000
STREAMS = 4
SNAPSHOT_BYTES = 96
# As much as the whole file, so that nothing is lost while it is written.
BUFFER_KIB = 320 * 1024
PATIENCE_SECONDS = 300


def traffic(folder):
    """Two million packets of four TCP streams, offloads off, 96 bytes of each."""
    path = folder / "iperf3-2m.pcap"
    if path.exists():
        return path
    say(f"making {path} once")
    with Lab() as lab:
        lab.needs("iperf3", "tcpdump")
        left, right = lab.host("left"), lab.host("right")
        link = lab.link(left, right)
        link.offload(False)
        right.serve(["iperf3", "-s"], port=5201)
        unfinished = path.with_suffix(".part")
        dump = left.start(["tcpdump", "-i", link.a.interface, "-s", SNAPSHOT_BYTES,
                           "-B", BUFFER_KIB, "-Z", "root", "-c", PACKETS, "-w", unfinished, "tcp"])
        dump.until(lambda: "listening" in dump.stderr(), 10, "listening")
        sender = left.start(["iperf3", "-c", link.b.ipv4, "-P", STREAMS, "-t", PATIENCE_SECONDS])
        if dump.wait(PATIENCE_SECONDS) != 0:
            raise Failed(dump.told())
        sender.kill()
        say(" ".join(dump.stderr().split()))
        unfinished.rename(path)
    return path


def one_packet_flows(folder, count):
    """A SYN each, from addresses and ports that never repeat."""
    path = folder / f"flows-{count}.pcap"
    if path.exists():
        return path
    say(f"making {path} once")
    tcp = struct.pack("!HHIIBBHHH", 0, 80, 1, 0, 0x50, 2, 65_535, 0, 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 1, 0x4000, 64, 6, 0, bytes(4),
                     ipaddress.ip_address("10.255.0.1").packed)
    frame = bytearray(bytes(12) + b"\x08\x00" + ip + tcp)
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, SNAPSHOT_BYTES, 1)]
    for number in range(count):
        struct.pack_into("!I", frame, 26, 0x0A000000 + number // 60_000)
        struct.pack_into("!H", frame, 34, 1024 + number % 60_000)
        parts.append(struct.pack("<IIII", 1_700_000_000 + number // 100_000,
                                 number % 100_000 * 10, len(frame), len(frame)) + frame)
    path.write_bytes(b"".join(parts))
    return path


def packets_in(path):
    """Counted record by record, for files of this byte order."""
    data = memoryview(path.read_bytes())
    place, packets = 24, 0
    while place < len(data):
        place += 16 + struct.unpack_from("<I", data, place + 8)[0]
        packets += 1
    return packets


def in_memory(path):
    """Read once, so that no tool waits for a disk. How long that took."""
    began = time.monotonic()
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 20):
            pass
    return time.monotonic() - began


def folder_beside(document):
    folder = pathlib.Path(document).absolute().parent / "captures"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
