"""What can be wrong in a cluster: a function each, of the cluster and the name of a host, before or
while its hosts are tested.

What the hosts cannot know is done to the cable; what is told of a host is done to the host.
"""

import os
import pathlib
import sys

import switches
from host_faults import Quota
from kernel import Skipped
from processes import tree_of

STRANGER = pathlib.Path(__file__).with_name("stranger.py")


# Cables.

def slow_sending(cluster, name, times=10):
    """What the host sends is slow, what it gets is not."""
    cluster.cables[name].limit(sending_mbps=cluster.rate_mbps / times)


def slow_receiving(cluster, name, times=10):
    cluster.cables[name].limit(receiving_mbps=cluster.rate_mbps / times)


def loss(cluster, name, share=0.005):
    """A bad cable: each frame may be lost, either way."""
    lost = switches.with_probability(share)
    cluster.cables[name].drop(sent=lost, received=lost)


def loss_one_way(cluster, name, share=0.005):
    """Of what the host gets."""
    cluster.cables[name].drop(received=switches.with_probability(share))


def small_mtu(cluster, name, mtu=1500):
    """The host's interface was left as it came; its switch port was not. What it gets of the
    others' size vanishes: a veth pair alone would let four bytes more pass."""
    cable = cluster.cables[name]
    cable.host.ip("link", "set", cable.host_end.interface, "mtu", mtu)
    cable.drop(received=switches.longer_than(mtu))


def black_hole(cluster, name, mtu=1500):
    """The switch's port is small, and nobody is told: larger packets vanish both ways."""
    longer = switches.longer_than(mtu)
    cluster.cables[name].drop(sent=longer, received=longer)


def one_way_black_hole(cluster, name, mtu=1500):
    """Only on the way to the host."""
    cluster.cables[name].drop(received=switches.longer_than(mtu))


def no_icmp(cluster, name):
    """The host's firewall drops it. That is no fault that a job would feel."""
    cluster.cables[name].drop(received=switches.every_icmp())


def gone(cluster, name):
    """Nothing passes any more, and nobody sees it; the host itself is well."""
    cluster.cables[name].cut()


def slow_uplink(cluster, times=4):
    """Between two groups: a part of what their hosts can send."""
    all_of_them = cluster.rate_mbps * max(map(len, cluster.groups()))
    for end in cluster.uplink:
        end.limit(all_of_them / times)


# Hosts.

def down(cluster, name):
    """The host is off."""
    cluster.servers[name].kill()
    cluster.cables[name].port.down()


def no_agent(cluster, name):
    """It is up, and no agent runs there."""
    cluster.servers[name].stop()


def dies(cluster, name):
    """Its agent is gone at once: its kernel ends the connections."""
    cluster.servers[name].kill()


def small_buffers(cluster, name, most_bytes=65_536):
    """As somebody tuned it once."""
    cluster.named(name).sysctls({f"net.ipv4.tcp_{kind}mem": f"4096 16384 {most_bytes}"
                                 for kind in "rw"})


def small_receive_buffer(cluster, name, most_bytes=65_536):
    cluster.named(name).sysctls({"net.ipv4.tcp_rmem": f"4096 16384 {most_bytes}"})


def small_send_buffer(cluster, name, most_bytes=65_536):
    cluster.named(name).sysctls({"net.ipv4.tcp_wmem": f"4096 16384 {most_bytes}"})


def few_processors(cluster, name, share=0.05):
    """The agent and all it runs may have this share of one. Close what is returned."""
    quota = Quota(share, period_ms=100)
    for pid in tree_of(cluster.servers[name].pid):
        quota.take(pid)
    return quota


# Names.

def own_name_is_loopback(cluster, name):
    """As Debian's installer leaves it."""
    cluster.set_name(name, name, "127.0.1.1")


def name_is_loopback(cluster, name, on):
    """What another host takes it for."""
    cluster.set_name(on, name, "127.0.0.1")


def name_is_anothers(cluster, name, on, other):
    """An old address in somebody's /etc/hosts."""
    cluster.set_name(on, name, cluster.address(other))


# Agents.

def wrong_key(cluster, name):
    cluster.servers[name].stop()
    cluster.serve_on(name, key=cluster.key_file("another-key"))


def other_version(cluster, name):
    """CHOKEPOINT_OTHER_VERSION is a chokepoint that says it is another."""
    program = os.environ.get("CHOKEPOINT_OTHER_VERSION", "")
    if not os.access(program, os.X_OK):
        raise Skipped("needs a chokepoint of another version: CHOKEPOINT_OTHER_VERSION")
    cluster.servers[name].stop()
    cluster.serve_on(name, program=program)


STRANGERS = ("garbage", "silence", "flood", "http", "closes")


def stranger(cluster, name, kind="garbage"):
    """Something else listens where an agent should: one of STRANGERS."""
    cluster.servers[name].stop()
    cluster.servers[name] = cluster.named(name).serve(
        [sys.executable, "-B", STRANGER, kind, 5210], 5210)
