"""Switches of a lab and the cables of its hosts: a switch is a namespace with a bridge, a cable a
veth pair with a token bucket at either end, one for what the host sends and one for what it gets.

What a cable drops it drops where a frame comes in, by a classic BPF program of the kernel's
classifier: that costs nothing, and no counter of either host tells of it.
"""

import kernel
from links import MOST_SEGMENTS, End

BRIDGE = "br0"
RANDOM = 0xFFFFF038  # where classic BPF finds a random number
LOAD_RANDOM, LOAD_LENGTH, LOAD_HALF, LOAD_BYTE = 32, 128, 40, 48
IF_GREATER, IF_EQUAL, RETURN = 37, 21, 6
PASS, DROP = 0xFFFFFFFF, 2
ETHERNET_BYTES = 14
ETHERTYPE_AT, PROTOCOL_AT = 12, 23
IPV4, ICMP = 0x0800, 1


def with_probability(share):
    return [(LOAD_RANDOM, 0, 0, RANDOM), (IF_GREATER, 1, 0, round((1 - share) * 0xFFFFFFFF)),
            (RETURN, 0, 0, PASS), (RETURN, 0, 0, DROP)]


def longer_than(packet_bytes):
    return [(LOAD_LENGTH, 0, 0, 0), (IF_GREATER, 1, 0, packet_bytes + ETHERNET_BYTES),
            (RETURN, 0, 0, PASS), (RETURN, 0, 0, DROP)]


def every_one():
    return [(RETURN, 0, 0, DROP)]


def every_icmp():
    """Of IPv4, as some firewalls have it."""
    return [(LOAD_HALF, 0, 0, ETHERTYPE_AT), (IF_EQUAL, 0, 2, IPV4),
            (LOAD_BYTE, 0, 0, PROTOCOL_AT), (IF_EQUAL, 1, 0, ICMP),
            (RETURN, 0, 0, PASS), (RETURN, 0, 0, DROP)]


def drop(end, program):
    """Of what comes in at this end, the frames that the program chooses; None: nothing."""
    end.host.tc("qdisc", "replace", "dev", end.interface, "clsact")
    end.host.tc("filter", "delete", "dev", end.interface, "ingress")
    if program is None:
        return
    text = ",".join([str(len(program)), *(" ".join(map(str, step)) for step in program)])
    try:
        end.host.tc("filter", "add", "dev", end.interface, "ingress", "bpf", "direct-action",
                    "bytecode", text)
    except kernel.Failed as reason:
        raise kernel.Skipped(f"needs the kernel's BPF classifier: {reason}") from None


class Cable:
    """From a host to a port of its switch. Rates count whole frames, as everywhere in the lab."""

    def __init__(self, host, host_end, port):
        self.host, self.host_end, self.port = host, host_end, port

    def limit(self, sending_mbps=None, receiving_mbps=None):
        """What the host may send, and what it gets."""
        if sending_mbps:
            self.host_end.limit(sending_mbps)
        if receiving_mbps:
            self.port.limit(receiving_mbps)

    def drop(self, sent=None, received=None):
        """Frames that the host sent, or that are on their way to it, such as
        with_probability(0.005). Each is one frame on a wire then, never many in one."""
        for end in (self.host_end, self.port):
            end.host.ip("link", "set", end.interface, "gso_max_segs",
                        1 if sent or received else MOST_SEGMENTS)
        drop(self.port, sent)
        drop(self.host_end, received)

    def cut(self):
        """Nothing passes, and neither end sees it."""
        drop(self.port, every_one())
        drop(self.host_end, every_one())

    def mend(self):
        self.drop()


class Switch:
    def __init__(self, host, mtu):
        self.host, self.mtu = host, mtu
        host.sysctls({"net.ipv6.conf.default.disable_ipv6": 1,
                      "net.bridge.bridge-nf-call-iptables": 0,
                      "net.bridge.bridge-nf-call-ip6tables": 0})
        # Without snooping: it would keep neighbours' questions from a host at first.
        host.ip("link", "add", BRIDGE, "mtu", mtu, "type", "bridge", "stp_state", 0,
                "forward_delay", 0, "mcast_snooping", 0)
        host.ip("link", "set", BRIDGE, "up")

    def take(self, interface):
        """Makes an interface of this namespace a port."""
        self.host.ip("link", "set", interface, "mtu", self.mtu, "master", BRIDGE, "up")
        return End(self.host, interface, "", "")

    def plug(self, host, interface, ipv4, ipv6):
        """A cable to this host, with its addresses."""
        port = host.name
        kernel.command("ip", "link", "add", interface, "netns", host.namespace, "type", "veth",
                       "peer", "name", port, "netns", self.host.namespace)
        end = End(host, interface, ipv4.split("/")[0], ipv6.split("/")[0])
        host.ends.append(end)
        made = Cable(host, end, self.take(port))
        host.sysctls({f"net.ipv6.conf.{interface}.keep_addr_on_down": 1})
        host.ip("link", "set", interface, "mtu", self.mtu, "up")
        host.ip("address", "add", ipv4, "dev", interface)
        host.ip("address", "add", ipv6, "dev", interface, "nodad")
        return made

    def join(self, other, wire=None):
        """An uplink to another switch: a veth pair, or the two devices of a wire. Its ends."""
        if wire:
            return self.take(wire.a.interface), other.take(wire.b.interface)
        kernel.command("ip", "link", "add", "uplink", "netns", self.host.namespace, "type", "veth",
                       "peer", "name", "uplink", "netns", other.host.namespace)
        return self.take("uplink"), other.take("uplink")
