"""Faults planted in a cluster, each with the truth about it: what a preflight has to say of whom.

A kind of fault draws its victim and its strength, so that a sweep does not play the same one over
and over; a test says which.
"""

import contextlib
import dataclasses
import random
import typing

import cluster_faults as faults


@dataclasses.dataclass
class Truth:
    """One finding at least has one of these ids and names these hosts and nobody else; all other
    findings name none but these and those who may be named, too. No hosts: no finding at all."""

    ids: tuple = ()
    hosts: tuple = ()
    may: tuple = ()
    place: str | None = None  # where the finding says that it is
    strength: str = ""
    lost: tuple = ()  # hosts whose pairs need not be measured


@dataclasses.dataclass
class Draw:
    """What is drawn for one run. A victim or strength that is given is not drawn."""

    cluster: object
    random: random.Random
    victim: str | None = None
    asker: str = "head"  # who is not cut off, for then all others were gone
    closing: contextlib.ExitStack = dataclasses.field(default_factory=contextlib.ExitStack)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.close()

    def host(self, besides=()):
        if self.victim and self.victim not in besides:
            return self.victim
        return self.random.choice([name for name in self.cluster.names if name not in besides])

    def between(self, low, high):
        """Evenly in its logarithm."""
        return low * (high / low) ** self.random.random()


@dataclasses.dataclass
class Kind:
    plant: typing.Callable  # of a Draw; the Truth
    topology: dict = dataclasses.field(default_factory=dict)
    is_midway: bool = False  # planted while the preflight is on


def slow(fault):
    def plant(draw):
        name, times = draw.host(), draw.between(4, 20)
        fault(draw.cluster, name, times)
        return Truth(("link.oneway",), (name,), strength=f"{times:.1f} times slower")
    return plant


def lossy(fault):
    def plant(draw):
        name, share = draw.host(), draw.between(0.003, 0.02)
        fault(draw.cluster, name, share)
        return Truth(("link.loss",), (name,), strength=f"{share:.2%} lost")
    return plant


def small_packets(fault, lost):
    """`lost`: TCP's packets are too large, too, so there is no throughput to be had."""
    def plant(draw):
        name, mtu = draw.host(), draw.random.choice((1500, 4000))
        fault(draw.cluster, name, mtu)
        return Truth(("link.mtu",), (name,), strength=f"{mtu} bytes", lost=(name,) if lost else ())
    return plant


def on_host(fault, *ids, lost=True):
    """A fault without strength, after which the host may take no part."""
    def plant(draw):
        name = draw.host(besides=(draw.asker,))
        fault(draw.cluster, name)
        return Truth(ids, (name,), lost=(name,) if lost else ())
    return plant


def name_elsewhere(draw):
    victim = draw.host()
    on = draw.random.choice([name for name in draw.cluster.names if name != victim])
    faults.name_is_loopback(draw.cluster, victim, on)
    if draw.asker == on:  # who asks is led to itself, and does without that host
        return Truth(("host.present",), (victim, on), lost=(victim,), strength=f"{victim} on {on}")
    return Truth(("name.loopback",), (on, victim), strength=f"{victim} on {on}")


def name_of_another(draw):
    victim = draw.host()
    others = [name for name in draw.cluster.names if name not in (victim, draw.asker)]
    on, other = draw.random.sample(others, 2)
    faults.name_is_anothers(draw.cluster, victim, on, other)
    return Truth(("name.elsewhere", "name.differs"), (on, victim),
                 strength=f"{victim} is {other} on {on}")


def buffers(fault):
    def plant(draw):
        name, most = draw.host(), round(draw.between(32_768, 131_072))
        fault(draw.cluster, name, most)
        return Truth(("path.window",), (name,), strength=f"{most} bytes")
    return plant


def narrow_uplink(draw):
    times = draw.between(2, 8)
    faults.slow_uplink(draw.cluster, times)
    # So narrow that a flow alone does not fit either, and it is the uplink all the same.
    ids = ("uplink.oversubscribed", "link.rate")
    return Truth(ids, tuple(draw.cluster.names), place="uplink",
                 strength=f"{times:.1f} times too narrow")


def stranger(draw):
    name, kind = draw.host(), draw.random.choice(faults.STRANGERS)
    faults.stranger(draw.cluster, name, kind)
    return Truth(("host.present",), (name,), strength=kind, lost=(name,))


def nothing(draw):
    return Truth()


FAR = {"groups": 2, "rtt_ms": 15, "rate_mbps": 200}
KINDS = {
    "none": Kind(nothing),
    "none-15ms": Kind(nothing, FAR),
    "none-two-switches": Kind(nothing, {"groups": 2}),
    "slow-sending": Kind(slow(faults.slow_sending)),
    "slow-receiving": Kind(slow(faults.slow_receiving)),
    "loss": Kind(lossy(faults.loss)),
    "loss-one-way": Kind(lossy(faults.loss_one_way)),
    "small-mtu": Kind(small_packets(faults.small_mtu, lost=False)),
    "black-hole": Kind(small_packets(faults.black_hole, lost=True)),
    "black-hole-one-way": Kind(small_packets(faults.one_way_black_hole, lost=True)),
    "own-name": Kind(on_host(faults.own_name_is_loopback, "name.loopback", lost=False)),
    "name-elsewhere": Kind(name_elsewhere),
    "name-of-another": Kind(name_of_another),
    "small-buffers": Kind(buffers(faults.small_buffers), FAR),
    "small-receive-buffer": Kind(buffers(faults.small_receive_buffer), FAR),
    "small-send-buffer": Kind(buffers(faults.small_send_buffer), FAR),
    "narrow-uplink": Kind(narrow_uplink, {"groups": 2}),
    "down": Kind(on_host(faults.down, "host.present")),
    "no-agent": Kind(on_host(faults.no_agent, "host.present")),
    "dies": Kind(on_host(faults.dies, "host.present"), is_midway=True),
    "gone": Kind(on_host(faults.gone, "host.present"), is_midway=True),
    "other-version": Kind(on_host(faults.other_version, "host.version", lost=False)),
    "wrong-key": Kind(on_host(faults.wrong_key, "host.present")),
    "stranger": Kind(stranger),
}

