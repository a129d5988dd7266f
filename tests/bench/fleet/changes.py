"""What changes in a fleet in the middle of its history, and what the program has to say of it."""

import dataclasses
import typing

import playing

SMALL = "4096 16384 65536"  # 64 KB in 20 ms are 26 Mb/s


@dataclasses.dataclass
class Truth:
    host: str = ""     # where it changed; empty: everywhere, or nowhere
    setting: str = ""  # empty: none is known of
    text: str = ""     # how strong it was


@dataclasses.dataclass
class Kind:
    make: typing.Callable  # of a fleet: the Truth, and what brings it about
    topology: dict = dataclasses.field(default_factory=lambda: playing.NEAR)
    is_harmless: bool = False
    has_second: bool = False  # each host has a second interface
    seconds: int = 12         # of a preflight: with 12 a sample of the pairs, with 30 all of them
    spins: bool = False       # the job computes; else it sleeps, which others on the machine do not disturb


def wire(fleet):
    """The switch's port sends slower to a host; no host can see that."""
    name, share = fleet.random.choice(fleet.names), fleet.random.uniform(0.4, 0.7)
    return Truth(name, text=f"{share:.0%} of the rate"), lambda: fleet.cluster.cables[name].limit(
        receiving_mbps=playing.RATE_MBPS * share)


def on_hosts(is_everywhere, setting, draw, change):
    """On one host, or on all: what `change` does with a host and what was drawn."""
    def make(fleet):
        name, drawn = fleet.random.choice(fleet.names), draw(fleet.random)
        names = fleet.names if is_everywhere else [name]

        def bring_about():
            for each in names:
                change(fleet, each, drawn)
        return Truth("" if is_everywhere else name, setting, str(drawn)), bring_about
    return make


def shaper(is_everywhere):
    """Somebody shapes what a host sends, on the host itself."""
    return on_hosts(is_everywhere, "nic eth0 qdisc",
                    lambda random: f"{random.uniform(0.4, 0.7) * playing.RATE_MBPS:.1f} Mb/s",
                    lambda fleet, name, rate: fleet.cluster.cables[name].limit(
                        sending_mbps=float(rate.split()[0])))


def mtu(is_everywhere):
    """An interface gets a smaller one; where it is one host's, its neighbours have a larger one."""
    return on_hosts(is_everywhere, "nic eth0 mtu", lambda random: random.choice((600, 1000)),
                    lambda fleet, name, size: fleet.host(name).ip("link", "set", "eth0", "mtu", size))


def disk(fleet):
    name, share = fleet.random.choice(fleet.names), fleet.random.uniform(0.4, 0.7)
    return (Truth(name, text=f"{share:.0%} of the rate"),
            lambda: fleet.set_disk(name, playing.DISK_MB_S * share))


def processor(fleet):
    """A host's job may use a part of a processor only."""
    name, share = fleet.random.choice(fleet.ranks), fleet.random.uniform(0.05, 0.1)
    return Truth(name, text=f"{share:.0%} of a processor"), lambda: fleet.quotas[name].only(share)


def interface(fleet):
    """The job is started with another interface, on all its hosts."""
    return (Truth("", "environment GLOO_SOCKET_IFNAME", playing.SECOND),
            lambda: fleet.environment.update(GLOO_SOCKET_IFNAME=playing.SECOND))


def sysctl(name, value, is_everywhere):
    return on_hosts(is_everywhere, f"sysctl {name}", lambda _: value,
                    lambda fleet, host, drawn: fleet.host(host).sysctls({name: drawn}))


def harmless(is_everywhere):
    return sysctl("net.core.somaxconn", "1000", is_everywhere)


def nothing(fleet):
    return Truth(), lambda: None


KINDS = {
    "wire": Kind(wire),
    "shaper": Kind(shaper(False)),
    "shapers": Kind(shaper(True)),
    "mtu": Kind(mtu(False), seconds=30),
    "mtus": Kind(mtu(True)),
    "disk": Kind(disk),
    "processor": Kind(processor, spins=True),
    "interface": Kind(interface, has_second=True),
    "receive-buffers": Kind(sysctl("net.ipv4.tcp_rmem", SMALL, True), playing.FAR, seconds=30),
    "nothing": Kind(nothing, is_harmless=True),
    "harmless": Kind(harmless(False), is_harmless=True),
    "harmless-everywhere": Kind(harmless(True), is_harmless=True),
}
