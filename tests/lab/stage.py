"""A scenario's hosts and links, built in a lab.

Where hosts meet at a switch, it forwards between their links, and they route by it.
"""

import os


class Stage:
    def __init__(self, lab, scenario):
        self.lab, self.scenario = lab, scenario
        self.hosts = {name: lab.host(name) for name in scenario.hosts}
        if scenario.congestion_control:
            for host in self.hosts.values():
                host.sysctls({"net.ipv4.tcp_congestion_control": scenario.congestion_control})
        self.links = {name: self.joined(link) for name, link in scenario.links.items()}
        if scenario.switch:
            self.hosts[scenario.switch].forward()
            for link in self.links.values():
                route_by(link, self.hosts[scenario.switch])

    def joined(self, link):
        a, b = (self.hosts[name] for name in link.between)
        if link.is_wire:
            made = self.lab.path(a, b, link.there, link.back)
        else:
            made = self.lab.link(a, b, link.there.rate_mbps, link.back.rate_mbps)
        if link.mtu:
            made.mtu(link.mtu)
        return made

    def end(self, host, link=None):
        """Where the host is joined to a link; without one, to the job's, else to its own."""
        made = self.links[link or self.scenario.job.link]
        if self.hosts[host] in (made.a.host, made.b.host):
            return made.of(self.hosts[host])
        return self.hosts[host].ends[0]

    def processor(self, host):
        """The one for this host's rank where ranks are pinned."""
        return self.scenario.ranks.index(host) % os.cpu_count()


def route_by(link, switch):
    """The host at the other end reaches all others by the switch."""
    here = link.of(switch)
    there = link.a if here is link.b else link.b
    for destination, via in (("10.77.0.0/16", here.ipv4), ("fd77::/16", here.ipv6)):
        there.host.route(destination, via)
