"""What joins two hosts: a veth pair, its addresses of both families, and token buckets.

Link k of a lab has 10.77.k.0/24 and fd77:k::/64; the first host is .1, the second .2.
"""

import dataclasses

MILLISECONDS_OF_BURST = 2
LEAST_BURST_BYTES = 65_536
LONGEST_INTERFACE_NAME = 15
MOST_SEGMENTS = 65_535
UNLIMITED_MBPS = 30_000


@dataclasses.dataclass
class End:
    host: object
    interface: str
    ipv4: str
    ipv6: str

    def counters(self):
        return self.host.counters(self.interface)

    def up(self):
        self.host.ip("link", "set", self.interface, "up")

    def down(self):
        """The IPv6 addresses are kept, as a NetworkManager would see to."""
        self.host.ip("link", "set", self.interface, "down")

    def limit(self, rate_mbps, queue_bytes=None, burst_bytes=None):
        """A token bucket on what this end sends; rates count whole Ethernet frames without FCS."""
        bytes_per_ms = rate_mbps * 125
        burst = burst_bytes or max(LEAST_BURST_BYTES, round(bytes_per_ms * MILLISECONDS_OF_BURST))
        queue = queue_bytes or max(burst, round(bytes_per_ms * 50))
        self.host.tc("qdisc", "replace", "dev", self.interface, "root", "tbf",
                     "rate", f"{round(rate_mbps * 1e6)}bit", "burst", burst, "limit", queue)

    def limit_ipv4(self, rate_mbps):
        """A rate for what this end sends by IPv4; all else passes as before."""
        self.tc_root("htb", "default", 10)
        for number, rate in ((10, UNLIMITED_MBPS), (20, rate_mbps)):
            self.host.tc("class", "add", "dev", self.interface, "parent", "1:",
                         "classid", f"1:{number}", "htb", "rate", f"{round(rate * 1e6)}bit",
                         "burst", LEAST_BURST_BYTES, "quantum", LEAST_BURST_BYTES)
        self.host.tc("filter", "add", "dev", self.interface, "parent", "1:", "protocol", "ip",
                     "u32", "match", "u32", 0, 0, "flowid", "1:20")

    def tc_root(self, *words):
        self.host.tc("qdisc", "replace", "dev", self.interface, "root", "handle", "1:", *words)


class Link:
    """The ends in the order of the hosts; `a` is what the first host sees of it."""

    def __init__(self, number, a, b):
        self.number = number
        self.a = self.end(a, f"to-{b.name}", 1)
        self.b = self.end(b, f"to-{a.name}", 2)
        self.prefixes = (f"10.77.{number}.0/24", f"fd77:{number:x}::/64")

    def end(self, host, interface, place):
        interface = interface[:LONGEST_INTERFACE_NAME]
        if any(end.interface == interface for end in host.ends):
            interface = f"{interface[:10]}-{self.number}"
        end = End(host, interface, f"10.77.{self.number}.{place}", f"fd77:{self.number:x}::{place}")
        host.ends.append(end)
        return end

    def address(self):
        """Brings both ends up, then gives them addresses: the other way round, IPv6 starts with a
        lost packet and a second of silence."""
        for end in (self.a, self.b):
            end.host.sysctls({f"net.ipv6.conf.{end.interface}.keep_addr_on_down": 1})
            end.up()
        for end in (self.a, self.b):
            end.host.ip("address", "add", f"{end.ipv4}/24", "dev", end.interface)
            end.host.ip("address", "add", f"{end.ipv6}/64", "dev", end.interface, "nodad")
        return self

    def of(self, host):
        """This host's end."""
        return self.a if self.a.host is host else self.b

    def mtu(self, size):
        for end in (self.a, self.b):
            end.host.ip("link", "set", end.interface, "mtu", size)

    def offload(self, is_wanted):
        """Whether frames may stand for many segments on their way through the hosts. Without, a
        host cuts them before any tap sees them, as with all offloads switched off."""
        for end in (self.a, self.b):
            end.host.ip("link", "set", end.interface, "gso_max_segs",
                        MOST_SEGMENTS if is_wanted else 1)


def join(number, a, b):
    """A veth pair: as fast as the processors, until an end is limited."""
    link = Link(number, a, b)
    a.ip("link", "add", link.a.interface, "netns", a.namespace, "type", "veth",
         "peer", "name", link.b.interface, "netns", b.namespace)
    return link.address()
