"""`chokepoint preflight` where parallel links join two groups of hosts and one of them is bad: each
test of a pair passes or fails by its ports. What names the member is a comparison of many flows."""

import secrets
import time

import preflights
import switches
from checks import holds

SERVE = ["chokepoint", "serve", "--quiet", "--key-file"]
L4 = {"net.ipv4.fib_multipath_hash_policy": 1}
# A router that is a namespace hashes by the sender's own hash of the connection, which the sender
# would change after a timeout.
KEEP_HASH = {"net.core.txrehash": 0}
MBPS = 200


class Sides:
    """left-1, left-2 … – fork – member-1, member-2 – join – right-1, right-2 …"""

    def __init__(self, lab, hosts=2):
        self.lab = lab
        self.fork, self.join = lab.host("fork"), lab.host("join")
        self.members = [lab.host(f"member-{number}") for number in (1, 2)]
        self.near = [lab.link(self.fork, member) for member in self.members]
        self.far = [lab.link(member, self.join) for member in self.members]
        self.links = [lab.link(self.side(name, number), router)
                      for name, router in (("left", self.fork), ("right", self.join))
                      for number in range(1, hosts + 1)]
        self.left, self.right = self.links[:hosts], self.links[hosts:]
        for router in (self.fork, self.join, *self.members):
            router.forward()
            router.sysctls(L4)
        for link in self.links:
            for end in (link.a, link.b):
                end.limit(MBPS)
            link.a.host.route("default", link.b.ipv4)
        self.route(self.fork, self.right, [link.b.ipv4 for link in self.near])
        self.route(self.join, self.left, [link.a.ipv4 for link in self.far])
        for near, far, member in zip(self.near, self.far, self.members):
            self.route(member, self.right, [far.b.ipv4])
            self.route(member, self.left, [near.a.ipv4])
        self.names = [link.a.ipv4 for link in self.links]
        self.key = lab.folder / "key"
        self.key.touch(mode=0o600)
        self.key.write_text(secrets.token_urlsafe(32) + "\n")
        for link in self.links:
            link.a.host.serve([*SERVE, self.key], port=5210)

    def side(self, name, number):
        host = self.lab.host(f"{name}-{number}")
        host.sysctls(KEEP_HASH)
        return host

    @staticmethod
    def route(router, links, gateways):
        for link in links:
            router.ip("-4", "route", "add", link.prefixes[0],
                      *[word for gateway in gateways for word in ("nexthop", "via", gateway)])

    def preflight(self):
        began = time.monotonic()
        limits = self.lab.folder / "limits.toml"
        limits.write_text(preflights.LIMITS.format(rate=""))
        process = self.left[0].a.host.start(
            ["chokepoint", "preflight", "--json", "--quick", "--key-file", self.key, "--limits",
             limits, *self.names])
        return preflights.finish(process, began)

    def routers(self, number):
        """The addresses of a member, from the left and from the right."""
        return {self.near[number].b.ipv4, self.far[number].a.ipv4}


def members(told):
    return [check for check in told.document["checks"] if check["id"] == "link.member"]


def test_a_member_that_loses_is_named_by_its_router(lab):
    sides = Sides(lab)
    for end in (sides.near[1].b, sides.far[1].a):
        switches.drop(end, switches.with_probability(0.08))
    told = sides.preflight()
    found = members(told)
    holds(any(f"at {router}, loses" in check["found"] for check in found
              for router in sides.routers(1)), told.text())
    holds(all(check["status"] == "CRITICAL" and "source ports" in check["found"]
              and not any(router in check["found"] for router in sides.routers(0))
              for check in found), told.text())
    bundle = told.document["bundles"][0]
    holds(bundle["verdict"] == "found" and bundle["bad"][0]["source_ports"], bundle)


def test_a_member_that_is_slow_is_named_by_its_ports(lab):
    sides = Sides(lab)
    for end in (sides.near[1].a, sides.far[1].b):
        end.limit(10)
    told = sides.preflight()
    found = members(told)
    holds(len(found) == 1 and "carries" in found[0]["found"] and
          found[0]["status"] == "CRITICAL" and "source ports" in found[0]["found"], told.text())


def test_members_that_are_alike_are_no_finding(lab):
    told = Sides(lab).preflight()
    holds(all(check["status"] == "PASS" for check in members(told)), told.text())
