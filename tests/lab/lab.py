"""Several hosts on one machine, joined by wires of known properties.

    with Lab() as lab:
        left, right = lab.host("left"), lab.host("right")
        link = lab.link(left, right, rate_mbps=1000)
        right.serve(["iperf3", "-s"], port=5201)
        print(left.json(["iperf3", "-c", link.b.ipv4, "-J"]))

A lab owns its hosts, and these their processes: all are gone when it closes, and those of a lab
that was killed when the next one opens. One thread. docs/internals/lab.md tells the whole story.
"""

import pathlib
import shutil
import tempfile

import kernel
import links
import namespaces
import netem
import wires
from hosts import Host
from kernel import Failed, Skipped
from wires import Way

__all__ = ["Failed", "Lab", "Skipped", "Way"]


class Lab:
    def __init__(self, programs=()):
        """`programs`: folders in which its hosts look for programs first."""
        self.programs = [str(folder) for folder in programs]
        self.hosts = []
        self.links = []
        self.wires = []

    def __enter__(self):
        kernel.require()
        namespaces.sweep()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=namespaces.name_for("")))
        return self

    def __exit__(self, *_):
        for host in reversed(self.hosts):
            host.close()
        for wire in self.wires:
            wire.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def needs(self, *programs):
        for program in programs:
            if not shutil.which(program, path=":".join(self.programs + kernel.search_path())):
                raise Skipped(f"needs {program}")

    def host(self, name, congestion="cubic"):
        host = Host(name, self.folder / name, congestion, self.programs)
        self.hosts.append(host)
        return host

    def link(self, a, b, rate_mbps=None, back_mbps=None):
        """A veth pair; rates from a to b and back (the same where only one is given)."""
        link = links.join(len(self.links) + 1, a, b)
        self.links.append(link)
        for end, rate in ((link.a, rate_mbps), (link.b, back_mbps or rate_mbps)):
            if rate:
                end.limit(rate)
        return link

    def wire(self, a, b, there=Way(), back=None, seed=1):
        """A link with delay, loss and a queue of its own from a to b and back (the same where only
        one is given)."""
        return self.cable(a, b, there, back, seed).address()

    def cable(self, a, b, there=Way(), back=None, seed=1):
        """A wire without addresses, for the ports of switches."""
        wire = wires.Wire(wires.program(), len(self.links) + 1, a, b, there, back or there, seed)
        self.wires.append(wire)
        self.links.append(wire)
        return wire

    def path(self, a, b, there=Way(), back=None):
        """A wire for whom the way it is made does not matter: by the kernel's netem where there is
        one, which costs no processor of the hosts', else by the relay."""
        back = back or there
        if not (netem.is_there() and netem.can(there) and netem.can(back)):
            return self.wire(a, b, there, back)
        made = netem.Path(len(self.links) + 1, a, b, there, back)
        self.links.append(made)
        return made

    def chain(self, a, b, routers):
        """a – router-1 – … – router-N – b: the links in this order, with routes both ways."""
        names = [f"router-{number}" for number in range(1, routers + 1)]
        stations = [a, *(self.host(name) for name in names), b]
        chained = [self.link(near, far) for near, far in zip(stations, stations[1:])]
        for place, host in enumerate(stations):
            if 0 < place < len(stations) - 1:
                host.forward()
            for other, link in enumerate(chained):
                if other < place - 1:
                    route_to(link, host, via=chained[place - 1].a)
                elif other > place:
                    route_to(link, host, via=chained[place].b)
        return chained


def route_to(link, host, via):
    for prefix, gateway in zip(link.prefixes, (via.ipv4, via.ipv6)):
        host.route(prefix, gateway)
