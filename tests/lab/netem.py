"""A link with delay and loss by the kernel's own netem, where the kernel has it: a veth pair, and
on either end a netem that does to what leaves there what Way says.

Unlike the relay it takes no orders by number, and has no counters of its own.
"""

import functools
import os
import subprocess

import kernel
import links
from wires import Way

LEAST_FRAME_BYTES = 1514
FRAMES_WITHOUT_RATE = 100_000
QUEUE_SECONDS = 0.05


@functools.cache
def is_there():
    """Tried in a namespace that is gone at once."""
    tried = subprocess.run(
        ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"],
        capture_output=True, timeout=kernel.COMMAND_SECONDS,
        env=dict(os.environ, PATH=":".join(kernel.search_path())))
    return tried.returncode == 0


def can(way):
    """What both do alike."""
    return way == Way(way.rate_mbps, way.delay_ms, loss=way.loss, queue_bytes=way.queue_bytes)


def words(way):
    """The limit holds what is on its way, too, not only what waits for the rate."""
    rate = way.rate_mbps * 125_000 if way.rate_mbps else None
    queue = way.queue_bytes or (rate * QUEUE_SECONDS if rate else 0)
    held = queue + (rate * way.delay_ms / 1000 if rate else 0)
    frames = max(20, round(held / LEAST_FRAME_BYTES)) if rate else FRAMES_WITHOUT_RATE
    return ["netem", "limit", frames, "delay", f"{way.delay_ms}ms",
            *(["loss", f"{way.loss * 100:.6f}%"] if way.loss else []),
            *(["rate", f"{round(way.rate_mbps * 1e6)}bit"] if way.rate_mbps else [])]


class Path:
    """What a Wire has of it, where it can."""

    def __init__(self, number, a, b, there, back):
        self.link = links.join(number, a, b)
        self.a, self.b, self.prefixes = self.link.a, self.link.b, self.link.prefixes
        self.of, self.mtu = self.link.of, self.link.mtu
        self.change(there, back)

    def change(self, there=None, back=None):
        self.there, self.back = there or self.there, back or self.back
        # A lost super-frame would be a burst of segments.
        self.link.offload(not (self.there.loss or self.back.loss))
        for end, way in ((self.a, self.there), (self.b, self.back)):
            self.put(end, words(way))

    def put(self, end, netem):
        end.host.tc("qdisc", "replace", "dev", end.interface, "root", *netem)

    def cut(self):
        for end in (self.a, self.b):
            self.put(end, ["netem", "loss", "100%"])

    def mend(self):
        self.change()
