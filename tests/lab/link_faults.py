"""Faults of what joins the hosts."""

from fault import Fault
from slots import put_into_slot
from wires import Way


class LinkChanged(Fault):
    """Another rate, delay or loss; there and back apart, the same where only one is given."""

    def begin(self, jobs):
        there = Way(**self.words["there"])
        self.change(there, Way(**self.words["back"]) if "back" in self.words else there)

    def end(self, jobs):
        healthy = self.stage.scenario.links[self.words["link"]]
        self.change(healthy.there, healthy.back)

    def change(self, there, back):
        link = self.link()
        if self.stage.scenario.links[self.words["link"]].is_wire:
            link.change(there, back)
        else:
            for end, way in ((link.a, there), (link.b, back)):
                end.limit(way.rate_mbps)


class Ipv4Slow(Fault):
    """IPv4 goes a slow way; IPv6 does not."""

    def begin(self, jobs):
        for end in (self.link().a, self.link().b):
            end.limit_ipv4(self.words["rate_mbps"])


class Cut(Fault):
    """Frames vanish, and no host sees it."""

    def begin(self, jobs):
        self.link().cut()

    def end(self, jobs):
        self.link().mend()


class Flap(Fault):
    """A host's interface goes down, and comes up again."""

    def begin(self, jobs):
        self.link().of(self.host()).down()

    def end(self, jobs):
        self.link().of(self.host()).up()


class Slot(LinkChanged):
    """A host's NIC sits in a PCIe slot that is narrower than its line: its /sys says so, and what
    it carries shows it."""

    def before_the_job(self):
        put_into_slot(self.link().of(self.host()), self.words["slot"])
        super().before_the_job()


class Competing(Fault):
    """Other traffic on the same link, from one host to another: streams of TCP, or of UDP at a rate
    in all."""

    def begin(self, jobs):
        self.stage.lab.needs("iperf3")
        link, sender = self.link(), self.host()
        here = link.of(sender)
        there = link.a if here is link.b else link.b
        there.host.serve(["iperf3", "-s"], port=5201)
        self.traffic = sender.start(["iperf3", "-c", there.ipv4, "-t", 60, "-P",
                                     self.words["streams"], *self.udp()])

    def udp(self):
        if "udp_mbps" not in self.words:
            return []
        return ["-u", "-b", f"{self.words['udp_mbps'] / self.words['streams']:.3f}M"]

    def end(self, jobs):
        self.traffic.stop()
