"""Whoever talks to `chokepoint serve` without being its client: raw connections, hand-made messages
of its control protocol (docs/protocol.md), a recording proxy, half-open connections."""

import contextlib
import json
import secrets
import socket
import struct
import threading

HELLO, WELCOME, PROOF, ADMITTED, REFUSED, REQUEST, FAILED = 1, 2, 3, 4, 5, 7, 14
ANSWER_SECONDS = 20


def connect(host, address, port):
    with host.entered():
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.settimeout(ANSWER_SECONDS)
    made.connect((address, port))
    return made


def frame(kind, body, framing=1):
    text = json.dumps(body).encode()
    return struct.pack("!2sBBI", b"CK", framing, kind, len(text)) + text


def hello(**changed):
    return frame(HELLO, {"oldest": 1, "newest": 1, "nonce": secrets.token_hex(32),
                         "program": "stranger", "host": "stranger", **changed})


def frames(data):
    """The messages in what a server said."""
    while len(data) >= 8:
        _, _, kind, length = struct.unpack("!2sBBI", data[:8])
        if len(data) < 8 + length:
            return
        yield kind, json.loads(data[8:8 + length])
        data = data[8 + length:]


def hear(connection, wanted=1):
    """That many messages, or as many as come before the server closes."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while len(list(frames(data))) < wanted:
            got = connection.recv(65_536)
            if not got:
                break
            data += got
    return list(frames(data))


def is_closed(connection):
    """Whether the server closed it, after what it may have had to say."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def admitted(host, address, port):
    """A connection that got in, at a server without a key."""
    connection = connect(host, address, port)
    connection.sendall(hello())
    hear(connection)
    connection.sendall(frame(PROOF, {"mac": None}))
    return connection, hear(connection)


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def half_open(host, source, address, port, count):
    """SYNs from an address that nobody has, so that no answer is ever answered."""
    with host.entered():
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    places = socket.inet_aton(source) + socket.inet_aton(address)
    with raw:
        for number in range(count):
            ports = struct.pack("!HH", 20_000 + number, port)
            tcp = ports + struct.pack("!IIBBHHH", number, 0, 5 << 4, 2, 65_535, 0, 0)
            total = ones_sum(places + struct.pack("!BBH", 0, 6, len(tcp)) + tcp)
            tcp = tcp[:16] + struct.pack("!H", ~total & 0xFFFF) + tcp[18:]
            ip = struct.pack("!BBHHHBBH", 0x45, 0, 40, number, 0, 64, 6, 0) + places
            raw.sendto(ip + tcp, (address, 0))


def ones_sum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


class Recorder:
    """A proxy on a host's loopback that keeps what clients said on each of their connections."""

    def __init__(self, host, address, port):
        self.host, self.to, self.said = host, (address, port), []
        with host.entered():
            self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = connect(self.host, *self.to)
                self.said.append(bytearray())
                for near, far, kept in ((client, server, self.said[-1]), (server, client, None)):
                    threading.Thread(target=self.carry, args=(near, far, kept), daemon=True).start()

    @staticmethod
    def carry(near, far, kept):
        with contextlib.suppress(OSError):
            while data := near.recv(65_536):
                if kept is not None:
                    kept += data
                far.sendall(data)
            far.shutdown(socket.SHUT_WR)

    def close(self):
        self.listener.close()
