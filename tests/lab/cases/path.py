"""probe path: the hops there and back, their loss, the path MTU and the dual-stack trap."""

import os
import re
import signal

from checks import between, holds, same
from hosts import with_names
from lab import Skipped, Way
from paper_routers import Routers

PROBE = ["chokepoint", "probe", "path"]
SERVE = ["chokepoint", "serve", "--insecure-open", "--quiet"]
NEVER = 10_000_000  # milliseconds between two ICMP errors of a router


def chained(lab, routers=3):
    left, right = lab.host("left"), lab.host("right")
    links = lab.chain(left, right, routers)
    return left, right, links


def probe(host, *words, **how):
    return host.json([*PROBE, *words, "--json"], **how)


def addresses(hops):
    return [hop["address"] for hop in hops]


def traced(host, address):
    """What the stock traceroute says: an address for each hop."""
    told = host.run(["traceroute", "-n", "-q1", "-w2", address]).stdout().splitlines()[1:]
    return [line.split()[1] for line in told]


def rations(router, milliseconds):
    router.sysctls({"net.ipv4.icmp_ratelimit": milliseconds,
                    "net.ipv6.icmp.ratelimit": milliseconds})


def test_both_ways_in_both_families_as_traceroute_sees_them(lab):
    left, right, links = chained(lab)
    lab.needs("traceroute")
    right.serve(SERVE, port=5210)
    end = links[-1].b
    names = with_names(left, f"{end.ipv6} voyager", f"{end.ipv4} voyager")
    found = left.json([*names, *PROBE, "voyager", "--json"])
    for family, there, back in (("ipv4", end.ipv4, links[0].a.ipv4),
                                ("ipv6", end.ipv6, links[0].a.ipv6)):
        told = found["families"][family]
        same(addresses(told["forward"]["hops"]), traced(left, there), f"{family} there")
        same(addresses(told["reverse"]["hops"]), traced(right, back), f"{family} back")
        same({hop["loss_percent"] for hop in told["forward"]["hops"]}, {0}, f"{family} loss")
        holds(all(hop["rtt_ms"] > 0 for hop in told["forward"]["hops"]), f"{family} RTT")
        same(told["symmetric"], True, f"{family} symmetric ({told['symmetry']})")
        same(told["path_mtu_bytes"], 1500, f"{family} path MTU")
    same(found["peer"]["family"], "ipv6", "the family of the name's first address")
    same(found["forward"], found["families"]["ipv6"]["forward"]["hops"], "the top of the document")
    same(found["dual_stack_finding"], None, "finding")
    holds(found["host_facts"]["peer"]["kernel"], "the peer did not tell how it is set up")


def test_by_tcp_from_both_ends(lab):
    left, right, links = chained(lab)
    right.serve(SERVE, port=5210)
    found = probe(left, links[-1].b.ipv4, "--tcp")
    same(found["families"]["ipv4"]["forward"]["protocol"], "tcp", "protocol")
    same(addresses(found["forward"]), [link.b.ipv4 for link in links], "there")
    same(addresses(found["reverse"]), [link.a.ipv4 for link in reversed(links)], "back")
    same(found["symmetric"], True, "symmetric")
    same(found["path_mtu_bytes"], 1500, "path MTU")


def test_a_far_host_whose_link_addresses_are_still_unknown(lab):
    left, near, right = (lab.host(name) for name in ("left", "near", "right"))
    link, wire = lab.link(left, near), lab.wire(near, right, Way(delay_ms=15))
    near.forward()
    for far, here, host in ((wire, link.b, left), (link, wire.a, right)):
        for prefix, gateway in zip(far.prefixes, (here.ipv4, here.ipv6)):
            host.route(prefix, gateway)
    right.serve(SERVE, port=5210)
    names = with_names(left, f"{wire.b.ipv6} voyager", f"{wire.b.ipv4} voyager")
    found = left.json([*names, *PROBE, "voyager", "--json"])
    for family, told in found["families"].items():
        between(told["forward"]["hops"][0]["rtt_ms"], 0, 29.9, f"{family} to the near router")
        between(told["forward"]["hops"][1]["rtt_ms"], 30, 90, f"{family} to the host")
        between(told["reverse"]["hops"][0]["rtt_ms"], 30, 90, f"{family} back to the near router")
        same(told["symmetric"], True, f"{family} symmetric ({told['symmetry']})")
    # The first connection over each family took a round trip more than the path's.
    same(found["dual_stack_finding"], None, "finding")


def test_needs_no_privilege_and_no_peer(lab):
    left, _, links = chained(lab)
    lab.needs("setpriv")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    for words in ((), ("--tcp",)):
        found = left.json([*nobody, *PROBE, links[-1].b.ipv4, "--json", *words])
        same(addresses(found["forward"]), [link.b.ipv4 for link in links], f"there, {words}")
        same(found["reverse"], None, "back")
        same(found["symmetric"], None, "symmetric")
        same(found["path_mtu_bytes"], 1500, "path MTU")
        holds("serve" in found["reverse_unknown_because"], found["reverse_unknown_because"])


def triangle(lab):
    """left – one – right on the way there, left – two – right on the way back."""
    left, one, two, right = (lab.host(name) for name in ("left", "one", "two", "right"))
    there = lab.link(left, one), lab.link(one, right)
    back = lab.link(left, two), lab.link(two, right)
    for router in (one, two):
        router.forward()
    for prefix, gateway in zip(there[1].prefixes, (there[0].b.ipv4, there[0].b.ipv6)):
        left.route(prefix, gateway)
    for prefix, gateway in zip(there[0].prefixes, (back[1].a.ipv4, back[1].a.ipv6)):
        right.route(prefix, gateway)
        two.route(prefix, back[0].a.ipv4 if "." in prefix else back[0].a.ipv6)
    # For the answers of its own, which the other way would carry.
    for prefix, gateway in zip(there[1].prefixes, (back[1].b.ipv4, back[1].b.ipv6)):
        two.route(prefix, gateway)
    return left, right, there, back


def test_another_way_back_is_told_of(lab):
    left, right, there, back = triangle(lab)
    right.serve(SERVE, port=5210)
    for family, end, router in (("ipv4", there[1].b.ipv4, back[1].a.ipv4),
                                ("ipv6", there[1].b.ipv6, back[1].a.ipv6)):
        found = probe(left, end)
        same(addresses(found["reverse"])[0], router, f"{family} back")
        same(found["symmetric"], False, f"{family} symmetric")
        same(found["families"][family]["symmetry"]["routers"][0]["match"], "differs", "hop 1")


def test_parallel_paths_do_not_split_a_flow(lab):
    left, fork, upper, lower, right = (
        lab.host(name) for name in ("left", "fork", "upper", "lower", "right"))
    entry = lab.link(left, fork)
    halves = [(lab.link(fork, half), lab.link(half, right)) for half in (upper, lower)]
    for router in (fork, upper, lower):
        router.forward()
    fork.sysctls({"net.ipv4.fib_multipath_hash_policy": 1})
    left.route("10.99.0.1/32", entry.b.ipv4)
    right.ip("address", "add", "10.99.0.1/32", "dev", "lo")
    fork.ip("route", "add", "10.99.0.1/32",
            *(word for near, _ in halves for word in ("nexthop", "via", near.b.ipv4)))
    for (near, far), host in zip(halves, (upper, lower)):
        host.route("10.99.0.1/32", far.b.ipv4)
        host.route(entry.prefixes[0], near.a.ipv4)
    right.route(entry.prefixes[0], halves[0][1].a.ipv4)
    middle = {near.b.ipv4 for near, _ in halves}

    def seen(*words):
        hops = probe(left, "10.99.0.1", "--alone", "--no-mtu", "--probes", "10", *words)["forward"]
        same(hops[-1]["address"], "10.99.0.1", "the target")
        return set(hops[1]["addresses"])

    same(seen("--tcp") | seen("--tcp"), middle, "the paths that connections take")
    same(len(seen()), 1, "the paths that one flow takes")


def test_a_silent_hop_stays_unknown_and_is_not_loss(lab):
    left, right, links = chained(lab)
    rations(links[1].b.host, NEVER)
    right.serve(SERVE, port=5210)
    end = links[-1].b
    names = with_names(left, f"{end.ipv6} voyager", f"{end.ipv4} voyager")
    found = left.json([*names, *PROBE, "voyager", "--json"])
    for family, told in found["families"].items():
        hops = told["forward"]["hops"]
        same((hops[1]["address"], hops[1]["rtt_ms"]), (None, None), f"{family}: the silent hop")
        same(hops[1]["silence"], "silent", "what its silence means")
        same(hops[-1]["address"], getattr(end, family), "the target")
        same(hops[-1]["loss_percent"], 0, "the target's loss")
        same(told["symmetric"], None, f"{family} symmetric")


def test_a_router_that_rations_its_answers_loses_nothing(lab):
    left, _, links = chained(lab)
    rations(links[0].b.host, 20_000)
    hop = probe(left, links[-1].b.ipv4, "--alone", "--probes", "8")["forward"][0]
    between(hop["answered"], 1, 7, "answers of 8")
    same(hop["silence"], "rate_limited", "what that means")


def test_routers_that_quote_eight_bytes_are_told_apart(lab):
    host = lab.host("left")
    if not os.access("/dev/net/tun", os.W_OK):
        raise Skipped("needs /dev/net/tun")
    for quoted in (8, 64):
        target = f"10.99.0.{quoted}"
        # The answers come later than the next probe goes out.
        with Routers(host, target, hops=4, quoted=quoted) as routers:
            hops = probe(host, target, "--alone", "--no-mtu", "--probes", "2")["forward"]
        same(addresses(hops), [*(routers.router(ttl) for ttl in (1, 2, 3)), target], f"{quoted}")
        same({len(hop["addresses"]) for hop in hops}, {1}, "addresses of a hop")
        same({(hop["sent"], hop["answered"]) for hop in hops}, {(2, 2)}, "probes of a hop")


def test_a_small_mtu_that_a_router_tells_of(lab):
    left, right, links = chained(lab, routers=2)
    links[1].mtu(1400)
    right.serve(SERVE, port=5210)
    for family, router in (("ipv4", links[0].b.ipv4), ("ipv6", links[0].b.ipv6)):
        end = getattr(links[-1].b, family)
        same(probe(left, end, "--alone")["path_mtu_bytes"], 1400, f"{family} path MTU, alone")
        found = probe(left, end)
        same(found["path_mtu_bytes"], 1400, f"{family} path MTU")
        mtu = found["families"][family]["forward"]["mtu"]
        same((mtu["limited_by"], mtu["announced_bytes"]), (router, 1400), f"{family} by whom")
        same(mtu["black_hole"], None, f"{family} black hole")
        same(found["families"][family]["reverse"]["mtu"]["path_mtu_bytes"], 1400, "back")


def test_a_black_hole_is_found_and_placed(lab):
    left, right, links = chained(lab, routers=2)
    # The receiving end alone is set lower: it drops what is larger, and nobody tells the sender.
    # A veth takes a VLAN tag more than its MTU says.
    far = links[1].b
    far.host.ip("link", "set", far.interface, "mtu", 1400 - 4)
    right.serve(SERVE, port=5210)
    mtu = probe(left, links[-1].b.ipv4)["families"]["ipv4"]["forward"]["mtu"]
    same(mtu["path_mtu_bytes"], 1400, "path MTU")
    same(mtu["black_hole_from_bytes"], 1401, "from where on")
    same((mtu["black_hole"]["last_before"], mtu["black_hole"]["first_behind"]),
         (links[0].b.ipv4, far.ipv4), "between")


def test_a_name_of_both_families_of_which_one_works(lab):
    left, right, links = chained(lab, routers=1)
    right.serve(SERVE, port=5210)
    good = links[-1].b.ipv4
    names = with_names(left, "fd99::2 voyager", f"{good} voyager")
    found = left.json([*names, *PROBE, "voyager", "--json"])
    same(found["peer"]["address"], good, "the address that works")
    finding = found["dual_stack_finding"]
    for part in ("only IPv4 works", "fd99::2", "NCCL_SOCKET_FAMILY=AF_INET,", f"'{good} voyager'"):
        holds(part in finding, f"{part!r} is not in: {finding}")
    same(found["families"]["ipv6"]["connection"], "unreachable", "IPv6")
    same(found["families"]["ipv4"]["symmetric"], True, "IPv4")


def test_a_peer_that_listens_on_the_other_family(lab):
    left, right, links = chained(lab, routers=1)
    end = links[-1].b
    right.serve([*SERVE, "--bind", end.ipv6], port=5210)
    names = with_names(left, f"{end.ipv4} voyager", f"{end.ipv6} voyager")
    found = left.json([*names, *PROBE, "voyager", "--json"])
    holds("listens on IPv6 alone" in found["dual_stack_finding"], found["dual_stack_finding"])
    holds("a program that takes IPv4" in found["dual_stack_finding"], found["dual_stack_finding"])
    same(found["families"]["ipv4"]["forward"]["reached"], True, "IPv4 goes there")
    same(found["families"]["ipv4"]["reverse"]["hops"], None, "IPv4 back")
    same(found["families"]["ipv6"]["symmetric"], True, "IPv6")


def test_where_udp_does_not_pass_tcp_shows_the_way(lab):
    left, right, links = chained(lab, routers=2)
    links[0].b.host.ip("rule", "add", "pref", 1, "ipproto", "udp", "blackhole")
    right.serve(SERVE, port=5210)
    found = probe(left, links[-1].b.ipv4)
    same(found["families"]["ipv4"]["udp_passes"], False, "UDP")
    same(addresses(found["forward"]), [link.b.ipv4 for link in links], "there")
    same(addresses(found["reverse"]), [link.a.ipv4 for link in reversed(links)], "back")
    same(found["path_mtu_bytes"], None, "path MTU")


def test_the_page_for_people(lab):
    left, right, links = chained(lab, routers=1)
    right.serve(SERVE, port=5210)
    page = left.run([*PROBE, links[-1].b.ipv4]).stdout()
    row = rf"1 +{re.escape(links[0].b.ipv4)} .* {re.escape(links[1].a.ipv4)} .* same router"
    holds(re.search(row, page), page)
    holds("path MTU there: 1500 bytes" in page and "same path back: yes" in page, page)


def test_an_interrupt_keeps_what_was_found(lab):
    left, _, links = chained(lab)
    for link in links[1:]:
        rations(link.b.host, NEVER)
    process = left.start([*PROBE, links[-1].b.ipv4, "--json", "--alone", "--time", "60"])
    # When the second answer of a router has come the first one has been read.
    process.until(lambda: left.protocol_counters("Icmp")["InTimeExcds"] > 1, 10, "an answer")
    process.signal(signal.SIGINT)
    same(process.wait(10), 130, "exit status")
    holds(f'"{links[0].b.ipv4}"' in process.stdout(), process.stdout())
