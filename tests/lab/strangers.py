"""Whoever talks to `chokepoint serve` without being its client: raw connections, hand-made messages
of its control protocol (docs/internals/protocol.md, read anew here on libsodium), a recording proxy, half-open
connections."""

import contextlib
import ctypes
import hashlib
import hmac
import json
import secrets
import socket
import struct
import threading

HELLO, WELCOME, PROOF, ADMITTED, REFUSED, ATTACH, REQUEST = 1, 2, 3, 4, 5, 6, 7
READY, BEGIN, STOP, FAILED, NOTE, LAST = 9, 10, 12, 14, 16, 16
PLAIN, SEALED = 1, 2
SEAL_BYTES = 16
ANSWER_SECONDS = 20

SODIUM = ctypes.CDLL("libsodium.so.23")


def connect(host, address, port, source=""):
    """`source`: which of the host's addresses."""
    with host.entered():
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.settimeout(ANSWER_SECONDS)
    try:
        made.bind((source, 0))
        made.connect((address, port))
    except OSError:
        made.close()
        raise
    return made


def header(kind, length, framing):
    return struct.pack("!2sBBI", b"CK", framing, kind, length)


def text_of(body):
    return json.dumps(body, separators=(",", ":")).encode()


def frame(kind, body, framing=PLAIN):
    text = text_of(body)
    return header(kind, len(text), framing) + text


def hello_body(**changed):
    return {"oldest": 2, "newest": 2, "nonce": secrets.token_hex(32), "program": "stranger",
            "host": "stranger", **changed}


def hello(**changed):
    return frame(HELLO, hello_body(**changed))


class Seal:
    """One direction of a connection, sealed."""

    def __init__(self, key):
        self.key, self.count = key, 0

    def nonce(self):
        self.count += 1
        return struct.pack("<IQ", 0, self.count - 1)

    def frame(self, kind, body):
        text = text_of(body)
        head = header(kind, len(text) + SEAL_BYTES, SEALED)
        sealed = ctypes.create_string_buffer(len(text) + SEAL_BYTES)
        SODIUM.crypto_aead_chacha20poly1305_ietf_encrypt(
            sealed, None, text, ctypes.c_ulonglong(len(text)), head,
            ctypes.c_ulonglong(len(head)), None, self.nonce(), self.key)
        return head + sealed.raw

    def opened(self, head, sealed):
        text = ctypes.create_string_buffer(len(sealed) - SEAL_BYTES)
        wrong = SODIUM.crypto_aead_chacha20poly1305_ietf_decrypt(
            text, None, None, sealed, ctypes.c_ulonglong(len(sealed)), head,
            ctypes.c_ulonglong(len(head)), self.nonce(), self.key)
        if wrong:
            raise AssertionError("what the server sealed does not open")
        return text.raw


def mac(key, *parts):
    made = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        made.update(struct.pack("<Q", len(part)) + part)
    return made.digest()


class Keys:
    """A client's key pair, and the seals that it leads to. `shared`: the content of a key file."""

    def __init__(self, shared=None):
        self.shared = hashlib.sha256(shared).digest() if shared else bytes(32)
        self.secret = secrets.token_bytes(32)
        public = ctypes.create_string_buffer(32)
        SODIUM.crypto_scalarmult_base(public, self.secret)
        self.public = public.raw

    def seals(self, said, heard):
        agreed = ctypes.create_string_buffer(32)
        SODIUM.crypto_scalarmult(agreed, self.secret, bytes.fromhex(heard["nonce"]))
        root = mac(self.shared, b"chokepoint root 2", text_of(said), text_of(heard), agreed.raw)
        self.attach = mac(root, b"attach")
        return Seal(mac(root, b"to server")), Seal(mac(root, b"to client"))


def frames(data, seal=None):
    """The messages in what a server said; what is sealed, without its body where it cannot be
    opened here."""
    while len(data) >= 8:
        _, framing, kind, length = struct.unpack("!2sBBI", data[:8])
        if len(data) < 8 + length:
            return
        body = data[8:8 + length]
        if framing == SEALED:
            body = seal.opened(data[:8], body) if seal else b"{}"
        yield kind, json.loads(body)
        data = data[8 + length:]


def hear(connection, wanted=1, seal=None):
    """That many messages, or as many as come before the server closes."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while len(list(frames(data))) < wanted:
            got = connection.recv(65_536)
            if not got:
                break
            data += got
    return list(frames(data, seal))


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


class Client:
    """A connection that shakes hands with a server, with or without a key."""

    def __init__(self, host, address, port, shared=None, source=""):
        self.host, self.place, self.source = host, (address, port), source
        self.connection = connect(host, address, port, source)
        self.keys = Keys(shared)
        said = hello_body(nonce=self.keys.public.hex())
        self.connection.sendall(frame(HELLO, said))
        welcome = hear(self.connection)[0][1]
        self.to_server, self.to_client = self.keys.seals(said, welcome)
        self.say(PROOF, {})
        self.answers = self.hear()

    def attached(self, request=1, index=0):
        """A data connection of this session's request."""
        session = self.answers[0][1]["session"]
        made = connect(self.host, *self.place, self.source)
        proof = mac(self.keys.attach, b"chokepoint attach 2", session.encode(),
                    str(request).encode(), str(index).encode())
        made.sendall(frame(ATTACH, {"session": session, "index": index, "mac": proof.hex()}))
        return made

    def say(self, kind, body):
        self.connection.sendall(self.to_server.frame(kind, body))

    def hear(self, wanted=1):
        return hear(self.connection, wanted, self.to_client)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()


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
    """A proxy on a host's loopback that keeps what clients said on each of their connections, and
    on demand changes a bit of what is sealed."""

    def __init__(self, host, address, port, change=False):
        self.host, self.to, self.said, self.change = host, (address, port), [], change
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

    def carry(self, near, far, kept):
        with contextlib.suppress(OSError):
            while data := near.recv(65_536):
                if self.change and data.startswith(b"CK\2"):
                    data = data[:-1] + bytes([data[-1] ^ 1])
                if kept is not None:
                    kept += data
                far.sendall(data)
        # Also after a reset: the server would wait a minute for a client that was killed.
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_WR)

    def close(self):
        self.listener.close()
