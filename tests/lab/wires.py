"""A link with delay, loss and a queue, each way apart: two TAP devices with a relay between them.

The relay is tests/lab/wire, a process of the lab's; it is told what to do line by line and ends
when its input is closed, so also with a lab that is killed.
"""

import dataclasses
import json
import os
import select
import subprocess

import kernel
from links import Link

ANSWER_SECONDS = 20
# What the relay has not read yet waits in the device: long enough for a busy machine.
DEVICE_QUEUE_FRAMES = 20_000


@dataclasses.dataclass
class Way:
    """One direction. Rates and bytes count Ethernet frames without FCS; without a rate the wire is
    as fast as the processors, and without a queue it holds 50 ms of its rate; with `bucket_bytes`
    the rate is a policer's. `jitter_ms` is the most that is added to the delay, `loss_run` how many
    frames are lost at once, `late` the share of frames that others overtake.

    Orders go by number: frames that carry data, counted from one since the last change. `reorder`
    has pairs: the frame that is held back, and how many later ones pass it."""

    rate_mbps: float | None = None
    delay_ms: float = 0
    jitter_ms: float = 0
    loss: float = 0
    loss_run: float = 1
    late: float = 0
    queue_bytes: int | None = None
    bucket_bytes: int | None = None
    drop: tuple = ()
    duplicate: tuple = ()
    reorder: tuple = ()

    def is_plain(self):
        """No more than a rate, which a veth pair and a token bucket do as well."""
        return self == Way(rate_mbps=self.rate_mbps)

    def words(self):
        rate = [f"rate={self.rate_mbps * 1e6:.0f}"] if self.rate_mbps else []
        queue = [f"queue={self.queue_bytes}"] if self.queue_bytes else []
        bucket = [f"bucket={self.bucket_bytes}"] if self.bucket_bytes else []
        return [*rate, *queue, *bucket, f"delay={self.delay_ms}ms", f"jitter={self.jitter_ms}ms",
                f"loss={self.loss:.9f}", f"run={self.loss_run}", f"late={self.late:.9f}",
                f"drop={','.join(map(str, self.drop))}",
                f"duplicate={','.join(map(str, self.duplicate))}",
                f"reorder={','.join(f'{number}:{behind}' for number, behind in self.reorder)}"]


class Wire(Link):
    def __init__(self, program, number, a, b, there, back, seed):
        super().__init__(number, a, b)
        self.there, self.back = there, back
        self.relay = subprocess.Popen(
            [program, a.namespace, self.a.interface, b.namespace, self.b.interface, f"seed={seed}",
             *(f"there.{word}" for word in there.words()),
             *(f"back.{word}" for word in back.words())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=kernel.die_with_parent)
        if self.answer() != "ready":
            raise kernel.Failed("the wire did not come up")
        for end in (self.a, self.b):
            end.host.ip("link", "set", end.interface, "txqueuelen", DEVICE_QUEUE_FRAMES)

    def answer(self):
        if not select.select([self.relay.stdout], [], [], ANSWER_SECONDS)[0]:
            raise kernel.Failed("the wire does not answer")
        return self.relay.stdout.readline().decode().strip()

    def tell(self, *words):
        self.relay.stdin.write((" ".join(words) + "\n").encode())
        self.relay.stdin.flush()
        told = json.loads(self.answer())
        if "error" in told:
            raise kernel.Failed(f"{' '.join(words)}: {told['error']}")
        return told

    def change(self, there=None, back=None):
        """While traffic passes; what was on the way keeps its time."""
        self.there, self.back = there or self.there, back or self.back
        self.tell("there", *self.there.words())
        self.tell("back", *self.back.words())

    def cut(self):
        """Frames vanish somewhere on the path; neither host sees its link go down."""
        self.tell("cut")

    def mend(self):
        self.tell("mend")

    def unplug(self):
        """Both hosts see their carrier go."""
        self.tell("unplug")

    def plug(self):
        self.tell("plug")

    def counters(self):
        """{"there": {packets, bytes, dropped_queue, dropped_loss, dropped_cut, dropped_by_order,
        duplicated, held_back}, "back": …}"""
        return self.tell("counters")

    def close(self):
        self.relay.stdin.close()
        try:
            self.relay.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self.relay.kill()
            self.relay.wait()
        self.relay.stdout.close()


def program():
    """The relay as it was built: where the tests say, or in the release build."""
    beside = os.path.join(os.path.dirname(__file__), "../../build/release/tests/lab/wire/lab_wire")
    found = os.environ.get("CHOKEPOINT_LAB_WIRE", beside)
    if not os.access(found, os.X_OK):
        raise kernel.Skipped("needs the wire: ninja -C build/release lab_wire")
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise kernel.Skipped("needs /dev/net/tun, for TAP devices")
    return os.path.abspath(found)
