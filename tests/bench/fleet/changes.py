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
    spins: bool = False       # the job computes; else it sleeps, which others on the machine do not disturb


def wire(fleet):
    """The switch's port sends slower to a host; no host can see that."""
    name, share = fleet.random.choice(fleet.names), fleet.random.uniform(0.4, 0.7)
    return Truth(name, text=f"{share:.0%} of the rate"), lambda: fleet.cluster.cables[name].limit(
        receiving_mbps=playing.RATE_MBPS * share)


def shaper(fleet):
    """Somebody shapes what a host sends, on the host itself."""
    name, share = fleet.random.choice(fleet.names), fleet.random.uniform(0.4, 0.7)
    return (Truth(name, "nic eth0 qdisc", f"{share:.0%} of the rate"),
            lambda: fleet.cluster.cables[name].limit(sending_mbps=playing.RATE_MBPS * share))


def mtu(fleet):
    """An interface gets a smaller one than its neighbours have."""
    name = fleet.random.choice(fleet.names)
    return (Truth(name, "nic eth0 mtu", "1500 to 600"),
            lambda: fleet.host(name).ip("link", "set", "eth0", "mtu", 600))


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
    def make(fleet):
        host = fleet.random.choice(fleet.names)
        hosts = fleet.names if is_everywhere else [host]

        def change():
            for each in hosts:
                fleet.host(each).sysctls({name: value})
        return Truth("" if is_everywhere else host, f"sysctl {name}", value), change
    return make


def harmless(is_everywhere):
    return sysctl("net.core.somaxconn", "1000", is_everywhere)


def nothing(fleet):
    return Truth(), lambda: None


KINDS = {
    "wire": Kind(wire),
    "shaper": Kind(shaper),
    "mtu": Kind(mtu),
    "disk": Kind(disk),
    "processor": Kind(processor, spins=True),
    "interface": Kind(interface, has_second=True),
    "window-scaling": Kind(sysctl("net.ipv4.tcp_window_scaling", "0", False), playing.FAR),
    "receive-buffer": Kind(sysctl("net.ipv4.tcp_rmem", SMALL, False), playing.FAR),
    "receive-buffers": Kind(sysctl("net.ipv4.tcp_rmem", SMALL, True), playing.FAR),
    "nothing": Kind(nothing, is_harmless=True),
    "harmless": Kind(harmless(False), is_harmless=True),
    "harmless-everywhere": Kind(harmless(True), playing.FAR, is_harmless=True),
}
