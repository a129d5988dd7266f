"""Tells chokepoint, where it watches, that a step begins: a datagram to the socket that
CHOKEPOINT_MARKS names. Never waits, and never fails where nobody listens."""

import contextlib
import os
import socket
import time


class Marks:
    def __init__(self, is_wanted=True):
        self.path = os.environ.get("CHOKEPOINT_MARKS") if is_wanted else None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)

    def step(self, number):
        if self.path:
            with contextlib.suppress(OSError):
                self.socket.sendto(f"step {number} t={time.monotonic_ns()}".encode(), self.path)
