"""Hostile peers of `chokepoint serve`: strangers that never get in, and clients that have the key
and misuse it. Each kind is one visit of some hundred milliseconds to three seconds; whatever the
server does to it is fine, as long as others are served.
"""

import contextlib
import os
import socket
import time

import strangers
from kernel import Failed
from strangers import frame, header, hello, reset

PATIENCE_S = 3
SILENT_S = 2
UDP_BYTES = 1200
TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(190)
HTTP = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
# All that a test may ask for, far out of bounds.
HUGE = {"direction": "both", "streams": 10 ** 18, "time_ns": 10 ** 300, "bytes": 2 ** 63,
        "window": 2 ** 62, "pace_bits_per_s": 1e308, "mss": -1, "interval_ns": 0, "dscp": 10 ** 9}
TCP = {"direction": "send", "streams": 2, "time_ns": 10 ** 9, "bytes": None, "omit_ns": 0,
       "interval_ns": 10 ** 9, "congestion": "", "mss": None, "window": None,
       "pace_bits_per_s": None, "dscp": None, "zero_copy": False, "share": True}
UDP = {"direction": "send", "streams": 1, "time_ns": 10 ** 9, "rate_bits_per_s": 1e6, "share": True}


class Visitor:
    """From one of the hostile host's addresses, with the key or without."""

    def __init__(self, arena, chance):
        self.arena, self.chance = arena, chance
        self.source = chance.choice(arena.sources)

    def connect(self):
        made = strangers.connect(self.arena.host, self.arena.address, self.arena.port, self.source)
        made.settimeout(PATIENCE_S)
        return made

    @contextlib.contextmanager
    def connected(self, opening=b""):
        with self.connect() as made:
            made.sendall(opening)
            yield made

    @contextlib.contextmanager
    def admitted(self):
        client = strangers.Client(self.arena.host, self.arena.address, self.arena.port,
                                  self.arena.key, self.source)
        client.connection.settimeout(PATIENCE_S)
        with client:
            if [kind for kind, _ in client.answers] != [strangers.ADMITTED]:
                raise Failed("a client with the key was not admitted")
            yield client

    def says(self, opening):
        """Says this, and stays until the server has had enough of it."""
        with self.connected(opening) as made:
            strangers.is_closed(made)

    def asks(self, kind, parameters):
        with self.admitted() as client:
            client.say(strangers.REQUEST, {"kind": kind, "parameters": parameters})
            client.hear()


def churn(visitor):
    for _ in range(20):
        visitor.connect().close()


def resets(visitor):
    for _ in range(20):
        reset(visitor.connect())


def half_open(visitor):
    strangers.half_open(visitor.arena.host, visitor.arena.nobody, visitor.arena.address,
                        visitor.arena.port, 50)


def silent(visitor):
    with contextlib.ExitStack() as stack:
        for _ in range(15):
            stack.enter_context(visitor.connect())
        time.sleep(SILENT_S)


def slow(visitor):
    with visitor.connected() as made:
        for byte in hello()[:60]:
            made.send(bytes([byte]))
            time.sleep(0.04)


def garbage(visitor):
    visitor.says(visitor.chance.randbytes(visitor.chance.randrange(8, 20_000)))


def garbage_in_a_frame(visitor):
    visitor.says(header(strangers.HELLO, 200, strangers.PLAIN) + visitor.chance.randbytes(200))


def oversized(visitor):
    visitor.says(header(strangers.HELLO, 0xFFFFFFFF, strangers.PLAIN) + bytes(30_000))


def truncated(visitor):
    with visitor.connected(hello()[:visitor.chance.randrange(1, len(hello()))]):
        pass


def other_version(visitor):
    visitor.says(hello(oldest=visitor.chance.choice([-1, 0, 3, 10 ** 30]), newest=10 ** 30))


def other_framing(visitor):
    visitor.says(frame(strangers.HELLO, {}, framing=visitor.chance.choice([0, 2, 3, 255])))


def web_client(visitor):
    visitor.says(visitor.chance.choice([HTTP, TLS_HELLO]))


def deep_json(visitor):
    body = b'{"oldest":' + b"[" * 2000 + b"]" * 2000 + b"}"
    visitor.says(header(strangers.HELLO, len(body), strangers.PLAIN) + body)


def wrong_fields(visitor):
    wrong = visitor.chance.choice([{"nonce": 7}, {"program": ["x"] * 500}, {"host": None},
                                   {"nonce": "zz" * 32}, {"host": "\x1b]0;owned\x07" * 50},
                                   {"oldest": 1e308}, {"nonce": "00" * 32}])
    visitor.says(hello(**wrong))


def no_unicode(visitor):
    body = b'{"oldest":2,"newest":2,"program":"\xff\xfe\x00","host":"\xc0\x80"}'
    visitor.says(header(strangers.HELLO, len(body), strangers.PLAIN) + body)


def wrong_key(visitor):
    with strangers.Client(visitor.arena.host, visitor.arena.address, visitor.arena.port,
                          b"w" * 40, visitor.source):
        pass


def replay(visitor):
    for said in visitor.arena.recorded:
        with visitor.connected(said) as made:
            strangers.hear(made, 3)


def forged_attach(visitor):
    body = {"session": os.urandom(16).hex(), "index": visitor.chance.choice([0, -1, 10 ** 18]),
            "mac": os.urandom(32).hex()}
    visitor.says(frame(strangers.ATTACH, body))


def never_reads(visitor):
    with visitor.connect() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        for _ in range(50):
            made.sendall(hello())
        time.sleep(SILENT_S)


def udp_flood(visitor):
    flood(visitor, visitor.arena.port, 1000)


def flood(visitor, port, count):
    with visitor.arena.host.entered():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with made:
        made.bind((visitor.source, 0))
        for number in range(count):
            with contextlib.suppress(OSError):
                made.sendto(visitor.chance.randbytes(UDP_BYTES), (visitor.arena.address, port))
            if number % 50 == 49:
                time.sleep(0.02)


def man_in_between(visitor):
    """Forwards a client that has the key, and changes a bit of what it says."""
    between(visitor, change=True)


def cuts_the_wire(visitor):
    """Forwards it, and hangs up in the midst of it."""
    between(visitor, change=False, for_s=visitor.chance.uniform(0.02, 0.3))


def between(visitor, change, for_s=None):
    arena = visitor.arena
    recorder = strangers.Recorder(arena.host, arena.address, arena.port, change)
    with contextlib.closing(recorder):
        client = arena.client_through(recorder.port)
        if for_s:
            time.sleep(for_s)
            client.kill()
        client.wait(30)


def goes_at_once(visitor):
    with visitor.admitted():
        pass


def wrong_kinds(visitor):
    with visitor.admitted() as client:
        for kind in visitor.chance.sample(range(0, 40), 20):
            client.say(kind, {})
        client.hear()


def huge_numbers(visitor):
    visitor.asks(visitor.chance.choice(["tcp", "udp", "latency", "path"]), HUGE)


def deep_request(visitor):
    with visitor.admitted() as client:
        value = 1
        for _ in range(900):
            value = [value]
        client.say(strangers.REQUEST, {"kind": "tcp", "parameters": {"streams": value}})
        client.hear()


def oversized_request(visitor):
    visitor.asks("tcp", {"congestion": "x" * 70_000})


def endless_requests(visitor):
    with visitor.admitted() as client:
        for _ in range(200):
            client.say(strangers.REQUEST, {"kind": "nothing", "parameters": {}})
        client.hear(200)


def never_reads_answers(visitor):
    with visitor.admitted() as client:
        client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        for _ in range(300):
            client.say(strangers.REQUEST, {"kind": "tcp", "parameters": {"streams": "x" * 200}})
        time.sleep(SILENT_S)


def never_attaches(visitor):
    with visitor.admitted() as client:
        client.say(strangers.REQUEST, {"kind": "tcp", "parameters": TCP})
        client.hear()
        time.sleep(SILENT_S)


def closes_in_the_midst(visitor):
    with visitor.admitted() as client:
        client.say(strangers.REQUEST, {"kind": "tcp", "parameters": TCP})
        client.hear()
        with client.attached() as first, client.attached(index=1):
            client.hear()
            first.sendall(bytes(100_000))
            reset(client.connection)


def attaches_too_often(visitor):
    with visitor.admitted() as client, contextlib.ExitStack() as stack:
        client.say(strangers.REQUEST, {"kind": "tcp", "parameters": TCP})
        client.hear()
        for index in (0, 0, 0, 7, 10 ** 6, 10 ** 12):
            stack.enter_context(client.attached(index=index))
        time.sleep(0.3)


def udp_lies(visitor):
    with visitor.admitted() as client:
        client.say(strangers.REQUEST, {"kind": "udp", "parameters": UDP})
        for kind, body in ((strangers.STOP, {"sent": [1], "now": "boom"}),
                           (strangers.BEGIN, {"run": 10 ** 9, "packet_bytes": -1}),
                           (strangers.NOTE, {"proofs": [7, None, {}]})):
            client.say(kind, body)
        client.hear()


def floods_its_udp_port(visitor):
    with visitor.admitted() as client:
        client.say(strangers.REQUEST, {"kind": "udp", "parameters": UDP})
        for _, body in client.hear():
            for way in body.get("flows", []):
                flood(visitor, way["port"], 500)


def changed_seal(visitor):
    with visitor.admitted() as client:
        made = bytearray(client.to_server.frame(strangers.REQUEST, {"kind": "tcp"}))
        made[visitor.chance.randrange(8, len(made))] ^= 1
        client.connection.sendall(bytes(made))
        client.hear()


def cut_message(visitor):
    with visitor.admitted() as client:
        made = client.to_server.frame(strangers.REQUEST, {"kind": "tcp", "parameters": TCP})
        client.connection.sendall(made[:visitor.chance.randrange(1, len(made))])


def idle_sessions(visitor):
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(visitor.admitted())
        time.sleep(SILENT_S)


def abandons_any_test(visitor):
    for kind in ("latency", "path", "paths", "rpc", "quic", "responsiveness", "rdma"):
        with visitor.admitted() as client:
            client.say(strangers.REQUEST, {"kind": kind, "parameters": {}})
            if visitor.chance.random() < 0.5:
                client.hear()
            reset(client.connection)


def leaves_the_queue(visitor):
    """Two that want the host to themselves; the second resets while it waits."""
    alone = {"kind": "tcp", "parameters": {**TCP, "share": False}}
    with visitor.admitted() as first, visitor.admitted() as second:
        first.say(strangers.REQUEST, alone)
        first.hear()
        second.say(strangers.REQUEST, alone)
        second.hear()
        reset(second.connection)


def abandons_a_preflight(visitor):
    """In the midst of a task, which is a process of the server's."""
    with visitor.admitted() as client:
        client.say(strangers.REQUEST, {"kind": "preflight", "parameters": {}})
        client.hear()
        client.say(strangers.BEGIN, {"task": 1, "kind": "doctor"})
        time.sleep(visitor.chance.uniform(0, 0.3))
        reset(client.connection)


def misuses_a_preflight(visitor):
    with visitor.admitted() as client:
        client.say(strangers.REQUEST, {"kind": "preflight", "parameters": {"preflight": 7}})
        client.hear()
        for body in ({}, {"task": 10 ** 30}, {"task": 1, "kind": "x" * 5000},
                     {"task": 1, "kind": "names", "hosts": ["x" * 300] * 20},
                     {"task": 1, "kind": "doctor"}, {"task": 2, "kind": "doctor"}):
            client.say(strangers.BEGIN, body)
        client.hear(3)


STRANGERS = (churn, resets, half_open, silent, slow, garbage, garbage_in_a_frame, oversized,
             truncated, other_version, other_framing, web_client, deep_json, wrong_fields,
             no_unicode, wrong_key, replay, forged_attach, never_reads, udp_flood, man_in_between,
             cuts_the_wire)
ADMITTED = (goes_at_once, wrong_kinds, huge_numbers, deep_request, oversized_request,
            endless_requests, never_reads_answers, never_attaches, closes_in_the_midst,
            attaches_too_often, udp_lies, floods_its_udp_port, changed_seal, cut_message,
            idle_sessions, abandons_any_test, leaves_the_queue, abandons_a_preflight,
            misuses_a_preflight)
KINDS = {kind.__name__.replace("_", " "): kind for kind in (*STRANGERS, *ADMITTED)}
