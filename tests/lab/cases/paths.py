"""probe paths: which member of a bundle is bad, and none where all are well.

The bundle is that of a router's equal-cost routes, which puts each flow on a member by a hash of its
addresses and ports, as switches do.
"""

import re
import signal

import kernel
import switches
from checks import between, holds, same
from lab import Skipped, Way

PROBE = ["chokepoint", "probe", "paths"]
SERVE = ["chokepoint", "serve", "--insecure-open", "--quiet"]
TARGET = {"ipv4": "10.99.0.1", "ipv6": "fd99::1"}
L4 = {"net.ipv4.fib_multipath_hash_policy": 1, "net.ipv6.fib_multipath_hash_policy": 1}

# A router that is a namespace hashes by the sender's own hash of the connection, which the sender
# would change after a timeout.
KEEP_HASH = {"net.core.txrehash": 0}


def nexthops(gateways):
    return [word for gateway in gateways for word in ("nexthop", "via", gateway)]


class Bundle:
    """left – fork – member-1 … member-N – right, by equal-cost routes of the fork and of right."""

    def __init__(self, lab, members, slow=None, way=Way(delay_ms=4)):
        """`slow`: the number of the member whose first link is a wire of this way."""
        self.left, self.fork, self.right = (lab.host(name) for name in ("left", "fork", "right"))
        self.entry = lab.link(self.left, self.fork)
        self.members = [lab.host(f"member-{number}") for number in range(1, members + 1)]
        self.near = [lab.wire(self.fork, member, way) if number == slow else
                     lab.link(self.fork, member) for number, member in enumerate(self.members)]
        self.far = [lab.link(member, self.right) for member in self.members]
        for host in (self.fork, *self.members):
            host.forward()
        for host in (self.fork, self.right):
            host.sysctls(L4)
        for host in (self.left, self.right):
            host.sysctls(KEEP_HASH)
        for family in TARGET:
            self.route(family)

    def route(self, family):
        number, bits = ("-4", 32) if family == "ipv4" else ("-6", 128)
        target, home = f"{TARGET[family]}/{bits}", self.entry.prefixes[family == "ipv6"]

        def at(end):
            return getattr(end, family)
        self.right.ip("address", "add", target, "dev", "lo", *(["nodad"] if bits == 128 else []))
        self.left.route(target, at(self.entry.b))
        self.fork.ip(number, "route", "add", target, *nexthops(at(link.b) for link in self.near))
        self.right.ip(number, "route", "add", home, *nexthops(at(link.a) for link in self.far))
        for member, near, far in zip(self.members, self.near, self.far):
            member.route(target, at(far.b))
            member.route(home, at(near.a))

    def lose(self, member, share, back=False):
        """Of what comes to this member, from the fork or from right."""
        end = self.far[member].a if back else self.near[member].b
        switches.drop(end, switches.with_probability(share))

    def serve(self, *words):
        self.right.serve([*SERVE, *words], port=5210)
        return self

    def probe(self, *words, family="ipv4", **how):
        return self.left.json([*PROBE, TARGET[family], "--json", *words], timeout=90, **how)


def port_of(flow):
    return flow["source_port"]


def member_of(found, bundle, number, family="ipv4"):
    """The source ports of the flows that were seen to pass this member."""
    address = getattr(bundle.near[number].b, family)
    return {port_of(flow) for flow in found["flows"] if flow["hops"] and address in flow["hops"]}


def one_finding(found, kind, direction):
    same(found["verdict"], "found", f"verdict ({found['findings']})")
    same([(each["kind"], each["direction"]) for each in found["findings"]], [(kind, direction)],
         "findings")
    return found["findings"][0]


def test_a_member_that_loses_is_named_with_its_flows(lab):
    bundle = Bundle(lab, 4).serve()
    bundle.lose(2, 0.02)
    found = bundle.probe()
    finding = one_finding(found, "loss", "send")
    bad = member_of(found, bundle, 2)
    same(set(finding["source_ports"]), bad, "source ports")
    same(finding["hop"], {"ttl": 2, "address": bundle.near[2].b.ipv4}, "hop")
    between(finding["loss_percent"], 1, 3, "loss")
    same(finding["others_loss_percent"], 0, "loss of the others")
    same(finding["flows"], len(bad), "flows")
    same((found["paths"]["by_hops"], found["paths"]["at_least"]), (4, 4), "paths")


def test_one_of_two_that_loses_on_the_way_back(lab):
    bundle = Bundle(lab, 2).serve()
    bundle.lose(0, 0.02, back=True)
    finding = one_finding(bundle.probe("--no-trace"), "loss", "receive")
    between(finding["loss_percent"], 1, 3, "loss")
    between(finding["share_percent"]["likely"], 20, 80, "share")
    same(finding["hop"], None, "hop")
    page = bundle.left.run([*PROBE, TARGET["ipv4"], "--no-trace"], timeout=90).stdout()
    told = r"from 10\.99\.0\.1: (about 1 of \d members loses|most members lose) [\d.]+ %, the others 0 %"
    holds(re.search(told, page), page)


def test_over_ipv6(lab):
    bundle = Bundle(lab, 2).serve()
    bundle.lose(1, 0.02)
    found = bundle.probe(family="ipv6")
    same(found["peer"]["family"], "ipv6", "family")
    finding = one_finding(found, "loss", "send")
    same(set(finding["source_ports"]), member_of(found, bundle, 1, "ipv6"), "source ports")


def test_a_longer_member_is_told_from_the_others(lab):
    bundle = Bundle(lab, 4, slow=1).serve()
    found = bundle.probe("--packets", "300")
    same({(each["kind"], each["direction"]) for each in found["findings"]},
         {("delay", "send"), ("delay", "receive")}, "findings")
    there = next(each for each in found["findings"] if each["direction"] == "send")
    same(set(there["source_ports"]), member_of(found, bundle, 1), "source ports")
    between(there["later_ms"], 3, 8, "how much longer")


def test_members_that_are_well_give_no_finding(lab):
    found = Bundle(lab, 4).serve().probe()
    same((found["verdict"], found["findings"]), ("alike", []), "verdict")
    same(found["paths"]["by_hops"], 4, "paths")


def test_loss_on_all_of_them_is_nobodys(lab):
    bundle = Bundle(lab, 4).serve()
    switches.drop(bundle.entry.b, switches.with_probability(0.02))
    found = bundle.probe("--no-trace")
    same(found["findings"], [], "findings")
    between(found["send"]["loss_percent"], 1, 3, "loss")


def test_a_single_path_is_one(lab):
    left, right = lab.host("left"), lab.host("right")
    links = lab.chain(left, right, 2)
    right.serve(SERVE, port=5210)
    process = left.run([*PROBE, links[-1].b.ipv4], timeout=90)
    holds("1 path seen" in process.stdout() and "All 64 flows are alike." in process.stdout(),
          process.stdout())


def test_too_little_is_unknown(lab):
    bundle = Bundle(lab, 2).serve()
    found = bundle.probe("--packets", "20")
    same((found["verdict"], found["findings"]), ("unknown", []), "verdict")
    holds("members only where it loses" in found["unknown_because"], found["unknown_because"])


def refused(host, *words):
    return host.run([*PROBE, *words], status=1, timeout=30).stderr()


def test_servers_that_are_not_there_too_old_or_know_another_key(lab):
    left, right = lab.host("left"), lab.host("right")
    end = lab.link(left, right).b
    holds("is 'chokepoint serve' running there?" in refused(left, end.ipv4), "no server")
    right.serve([*SERVE, "--offer", "tcp,udp"], port=5210)
    said = refused(left, end.ipv4)
    holds("paths" in said and "not offer" in said, said)
    left.folder.mkdir(exist_ok=True)
    keys = [left.folder / name for name in ("a.key", "b.key")]
    for number, key in enumerate(keys):
        key.write_text(f"a key of many letters, number {number}\n" * 2)
        key.chmod(0o600)
    right.serve([*SERVE, "--port", "5211", "--key-file", keys[0]], port=5211)
    said = refused(left, f"{end.ipv4}:5211", "--key-file", str(keys[1]))
    holds("key" in said, said)


def udp_only():
    """Of IPv4."""
    return [(switches.LOAD_HALF, 0, 0, switches.ETHERTYPE_AT),
            (switches.IF_EQUAL, 0, 2, switches.IPV4),
            (switches.LOAD_BYTE, 0, 0, switches.PROTOCOL_AT), (switches.IF_EQUAL, 1, 0, 17),
            (switches.RETURN, 0, 0, switches.PASS), (switches.RETURN, 0, 0, switches.DROP)]


def test_udp_that_is_blocked_one_way(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right)
    right.serve(SERVE, port=5210)
    switches.drop(link.a, udp_only())
    said = refused(left, link.b.ipv4)
    holds("UDP arrives there, and no answer comes back" in said, said)
    switches.drop(link.a, None)
    switches.drop(link.b, udp_only())
    said = refused(left, link.b.ipv4)
    holds("no answer over UDP, though TCP works" in said, said)


def test_an_interrupt_keeps_what_was_measured(lab):
    bundle = Bundle(lab, 2).serve()
    bundle.lose(1, 0.05)
    client = bundle.left.start([*PROBE, TARGET["ipv4"], "--json", "--time", "60"])
    client.until(lambda: bundle.near[0].b.counters()["received_packets"] > 2000, 30, "packets")
    client.signal(signal.SIGINT)
    same(client.wait(20), 130, "exit status")
    found = client.document()
    same(found["interrupted"], True, "interrupted")
    one_finding(found, "loss", "send")


def test_a_bond_whose_member_loses(lab):
    left, right = lab.host("left"), lab.host("right")
    for host in (left, right):
        try:
            host.ip("link", "add", "bond0", "type", "bond", "mode", "balance-xor",
                    "xmit_hash_policy", "layer3+4", "miimon", 100)
        except kernel.Failed as reason:
            raise Skipped(f"needs the kernel's bonding: {reason}") from None
    links = [lab.link(left, right) for _ in range(2)]
    for link in links:
        for end in (link.a, link.b):
            end.down()
            end.host.ip("link", "set", end.interface, "master", "bond0")
    for number, host in enumerate((left, right), 1):
        host.ip("link", "set", "bond0", "up")
        host.ip("address", "add", f"10.98.0.{number}/24", "dev", "bond0")
    right.serve(SERVE, port=5210)
    switches.drop(links[1].b, switches.with_probability(0.02))
    found = left.json([*PROBE, "10.98.0.2", "--json"], timeout=90)
    finding = one_finding(found, "loss", "send")
    between(finding["share_percent"]["likely"], 20, 80, "share")
    same(found["paths"]["by_hops"], None, "paths by routers")


def test_a_slow_member_is_found_by_rates(lab):
    """It carries so little that what a flow sends in its turn arrives only after the turn."""
    bundle = Bundle(lab, 2).serve()
    for number, link in enumerate(bundle.near):
        link.a.limit(0.1 if number == 1 else 100)
    found = bundle.probe("--protocol", "tcp", "--flows", "24", "--time", "6")
    finding = one_finding(found, "rate", "send")
    between(finding["rate_mbps"], 0, 5, "rate")
    between(finding["others_rate_mbps"], 40, 105, "rate of the others")
    slow = {port_of(flow) for flow in found["flows"] if flow["rate_mbps"] < 20}
    same(set(finding["source_ports"]), slow, "source ports")


def test_members_of_one_rate_are_alike(lab):
    bundle = Bundle(lab, 2).serve()
    for link in bundle.near:
        link.a.limit(50)
    found = bundle.probe("--protocol", "tcp", "--flows", "16", "--time", "16")
    same(found["findings"], [], "findings")
    same(found["send"], None, "packets")
