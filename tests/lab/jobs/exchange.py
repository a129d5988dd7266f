#!/usr/bin/env python3
"""usage: exchange.py listen|connect ADDRESS PORT [--steps N] [--bytes B] [--rest SECONDS] …

A job of two: in each step both send so many bytes over each of their connections and take what the
other sends, then rest. Prints a line a step. By the standard library alone, so that it starts at
once. --truth FILE gets what only the job knows: when its steps were, by the monotonic clock, and
what its own sockets counted.
"""

import argparse
import contextlib
import json
import os
import pathlib
import selectors
import socket
import struct
import time

PATIENCE_SECONDS = 60
CHUNK = bytes(1 << 18)
RETRANSMITTED, SENT, RETRANSMITTED_BYTES = ("I", 100), ("Q", 200), ("Q", 208)


def arguments():
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("role", choices=("listen", "connect"))
    words.add_argument("address")
    words.add_argument("port", type=int)
    words.add_argument("--steps", type=int, default=20)
    words.add_argument("--bytes", type=int, default=100_000, help="a step, each way, in all")
    words.add_argument("--connections", type=int, default=1)
    words.add_argument("--rest", type=float, default=0.02)
    words.add_argument("--reopen", action="store_true", help="new connections for each step")
    words.add_argument("--one-way", action="store_true", help="who listened sends next to nothing")
    words.add_argument("--quiet", action="store_true")
    words.add_argument("--read", type=pathlib.Path, help="a file of this folder in each step, the "
                       "next one, from storage itself")
    words.add_argument("--truth", type=pathlib.Path)
    return words.parse_args()


def counted(connection):
    """What the kernel counted of this connection so far."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    retransmitted, sent, again = (struct.unpack_from("=" + kind, raw, place)[0]
                                  for kind, place in (RETRANSMITTED, SENT, RETRANSMITTED_BYTES))
    return {"local": connection.getsockname()[:2], "peer": connection.getpeername()[:2],
            "retransmitted": retransmitted, "sent_bytes": sent, "retransmitted_bytes": again}


class Peer:
    def __init__(self, asked):
        self.asked = asked
        family = socket.AF_INET6 if ":" in asked.address else socket.AF_INET
        self.listener = None
        if asked.role == "listen":
            self.listener = socket.create_server((asked.address, asked.port), family=family,
                                                 backlog=max(128, asked.connections))
            self.listener.settimeout(PATIENCE_SECONDS)

    def open(self):
        made = [self.accepted() if self.listener else self.connected()
                for _ in range(self.asked.connections)]
        for connection in made:
            connection.settimeout(PATIENCE_SECONDS)
        return made

    def accepted(self):
        return self.listener.accept()[0]

    def connected(self):
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return socket.create_connection((self.asked.address, self.asked.port),
                                                PATIENCE_SECONDS)
            except ConnectionRefusedError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)


def exchange(connections, sends, takes):
    """Sends and takes on all of them at once."""
    with selectors.DefaultSelector() as selector:
        left = {connection: [sends, takes] for connection in connections}
        for connection in connections:
            connection.setblocking(False)
            selector.register(connection, wanted(left[connection]))
        while selector.get_map():
            for key, events in selector.select(PATIENCE_SECONDS):
                work(key.fileobj, events, left[key.fileobj])
                if now := wanted(left[key.fileobj]):
                    if now != key.events:
                        selector.modify(key.fileobj, now)
                else:
                    selector.unregister(key.fileobj)


def wanted(left):
    return (selectors.EVENT_WRITE if left[0] else 0) | (selectors.EVENT_READ if left[1] else 0)


def work(connection, events, left):
    with contextlib.suppress(BlockingIOError):
        if events & selectors.EVENT_WRITE:
            left[0] -= connection.send(CHUNK[:left[0]])
    with contextlib.suppress(BlockingIOError):
        if events & selectors.EVENT_READ:
            taken = len(connection.recv(min(left[1], len(CHUNK))))
            if not taken:
                raise ConnectionError("the other end is gone")
            left[1] -= taken


def closed(connections, told):
    """What each counted, once all it sent has arrived."""
    for connection in connections:
        told.append(counted(connection))
        connection.close()


def read(path):
    """All of it, and lets the kernel forget it."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 20):
            pass
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run(asked):
    peer, steps, sockets = Peer(asked), [], []
    files = sorted(asked.read.iterdir()) if asked.read else []
    share = max(1, asked.bytes // asked.connections)
    sends, takes = share, share
    if asked.one_way:
        sends, takes = (1, share) if asked.role == "listen" else (share, 1)
    connections = peer.open()
    for number in range(1, asked.steps + 1):
        began = time.monotonic_ns()
        if asked.reopen and number > 1:
            closed(connections, sockets)
            connections = peer.open()
        if files:
            read(files[number % len(files)])
        exchange(connections, sends, takes)
        time.sleep(asked.rest)
        steps.append([began, time.monotonic_ns()])
        if not asked.quiet:
            print(f"step {number} loss {1 / number:.3f} "
                  f"time {(steps[-1][1] - began) / 1e6:.1f}ms", flush=True)
    closed(connections, sockets)
    if asked.truth:
        asked.truth.write_text(json.dumps({"steps": steps, "sockets": sockets}))


if __name__ == "__main__":
    run(arguments())
