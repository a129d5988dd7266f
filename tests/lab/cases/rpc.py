"""probe rpc: how many calls a path carries, how long each takes, and what limits them."""

import os
import signal

from checks import between, holds, near, same
from lab import Way

PORT = 5210
PROBE = ["chokepoint", "probe", "rpc"]
SERVE = ["chokepoint", "serve", "--insecure-open", "--quiet"]


def linked(lab, **rates):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, **rates)
    right.serve(SERVE, PORT)
    return left, right, link


def far(lab, there, back=None):
    left, right = lab.host("left"), lab.host("right")
    path = lab.path(left, right, there, back)
    right.serve(SERVE, PORT)
    return left, path


def probe(host, *words, **how):
    told = host.json([*PROBE, *words, "--json"], timeout=90, **how)
    hold_together(told)
    return told


def hold_together(told):
    """Every call is counted once, at both ends, and its time is spent somewhere."""
    first = told["hops"][0]
    same(first["calls"], told["calls"], "calls of the first hop")
    same(sum(each["calls"] for each in told["intervals"]), told["calls"], "calls of the intervals")
    near(told["calls_per_s"] * told["duration_s"], told["calls"], 1e-6, "calls and their rate")
    for hop in told["hops"]:
        same(hop["latency_ms"]["count"], hop["calls"], "latencies")
        between(hop["held_ms"]["count"], hop["calls"], hop["calls"] + told["unanswered"], "held")
    near(sum(hop["network_ms"] + hop["own_ms"] for hop in told["hops"]),
         first["latency_ms"]["mean"], 0.02, "shares of the mean, ms")


def key_for(lab, letter="a"):
    key = lab.folder / f"{letter}.key"
    key.write_text(letter * 32)
    key.chmod(0o600)
    return str(key)


def with_names(host, *lines):
    """Words to put before a program that shall find these lines in /etc/hosts."""
    host.folder.mkdir(exist_ok=True)
    file = host.folder / "hosts"
    file.write_text("\n".join(lines) + "\n")
    return ["sh", "-c", f'mount --bind {file} /etc/hosts && exec "$@"', "sh"]


def test_no_call_is_counted_that_the_interface_did_not_carry(lab):
    left, _, link = linked(lab)
    before = link.b.counters()
    told = probe(left, link.b.ipv6, "-6", "--request", "8000", "--response", "3000", "--time", "1",
                 "--callers", "3", "--outstanding", "4")
    after = link.b.counters()
    same(told["peer"]["family"], "ipv6", "family")
    same(told["unanswered"], 0, "unanswered")
    for name, size in (("received_bytes", 8000), ("sent_bytes", 3000)):
        seen = after[name] - before[name]
        # Headers, acknowledgements and the control connection come on top.
        between(seen, told["calls"] * size, 1.3 * told["calls"] * size + 100_000, name)


def test_a_call_costs_a_round_trip_and_more_at_once_make_more(lab):
    left, path = far(lab, Way(delay_ms=20), Way(delay_ms=20))
    one = probe(left, path.b.ipv4, "--time", "2")
    between(one["latency_ms"]["median"], 40, 55, "latency, ms")
    between(one["hops"][0]["requests"]["min_rtt_ms"], 40, 55, "round trip, ms")
    between(one["round_trips"], 0.9, 1.3, "round trips a call")
    between(one["calls_per_s"], 12, 25, "calls/s")
    same(one["limit"], "round-trip", one["summary"])
    holds("8 outstanding calls" in one["summary"], one["summary"])
    for words in (("--outstanding", "8"), ("--callers", "8")):
        many = probe(left, path.b.ipv4, "--time", "2", *words)
        between(many["calls_per_s"] / one["calls_per_s"], 6, 9, f"speed-up by {words}")
        between(many["latency_ms"]["median"], 40, 60, f"latency with {words}, ms")


def test_a_request_larger_than_the_window_costs_more_round_trips(lab):
    left, path = far(lab, Way(delay_ms=20), Way(delay_ms=20))
    # The window is halved for each of the connection's timeouts, of 240 ms, that pass idle, and
    # grows twice as large each round trip: of 207 segments a quarter goes at first.
    told = probe(left, path.b.ipv4, "--request", "300000", "--response", "100", "--pause", "0.6",
                 "--time", "4", "--congestion", "reno")
    holds(told["round_trips"] > 2.2, f"{told['round_trips']} round trips a call")
    same(told["limit"], "congestion-window", told["summary"])
    holds("tcp_slow_start_after_idle" in told["summary"], told["summary"])
    left.sysctls({"net.ipv4.tcp_slow_start_after_idle": 0})
    kept = probe(left, path.b.ipv4, "--request", "300000", "--response", "100", "--pause", "0.6",
                 "--time", "6", "--congestion", "reno")
    holds(kept["latency_ms"]["min"] < told["latency_ms"]["median"] - 35,
          f"{kept['latency_ms']} with a window that is kept, {told['latency_ms']} without")


def measure_a_limited_link_is_told_at_its_rate(lab):
    left, _, link = linked(lab, rate_mbps=100)
    for words, field in ((("--request", "500000", "--response", "100"), "request_mbps"),
                         (("--request", "100", "--response", "500000"), "response_mbps")):
        told = probe(left, link.b.ipv4, "--outstanding", "4", "--time", "3", *words)
        between(told[field], 0.8 * 100, 1.01 * 100, f"{field} with {words}")
        same(told["limit"], "path", told["summary"])


def test_a_chain_has_the_share_of_each_way(lab):
    left, near_one, far_one = lab.host("left"), lab.host("near"), lab.host("far")
    link = lab.path(left, near_one, Way(delay_ms=5), Way(delay_ms=5))
    wire = lab.path(near_one, far_one, Way(delay_ms=20), Way(delay_ms=20))
    key = key_for(lab)
    for host in (near_one, far_one):
        host.serve(["chokepoint", "serve", "--quiet", "--key-file", key], PORT)
    told = probe(left, link.b.ipv4, wire.b.ipv4, "--key-file", key, "--time", "2")
    same([hop["worker"] for hop in told["hops"]], ["near", "far"], "workers")
    same(told["hops"][1]["caller"], "near", "who calls the second")
    same(told["hops"][1]["address"], wire.b.ipv4, "its address")
    between(told["latency_ms"]["median"], 50, 70, "a round, ms")
    between(told["hops"][0]["network_ms"], 10, 20, "the first way, ms")
    between(told["hops"][1]["network_ms"], 40, 55, "the second way, ms")
    between(told["hops"][1]["network_percent"], 65, 85, "its share")
    same(told["limit"], "round-trip", told["summary"])
    holds("from near to far" in told["summary"], told["summary"])
    # Gone in the middle: who called it says so.
    far_one.ip("link", "set", wire.b.interface, "down")
    client = left.run([*PROBE, link.b.ipv4, wire.b.ipv4, "--key-file", key, "--time", "30"],
                      timeout=60, status=1)
    holds(wire.b.ipv4 in client.stderr(), client.stderr())


def test_a_server_without_one_key_calls_nobody(lab):
    left, _, link = linked(lab)
    client = left.run([*PROBE, link.b.ipv4, "10.0.0.99"], timeout=40, status=1)
    holds("--key-file FILE" in client.stderr(), client.stderr())


def test_a_path_that_drops_large_packets_is_told(lab):
    left, right = lab.host("left"), lab.host("right")
    near, far_link = lab.chain(left, right, 1)
    right.serve(SERVE, PORT)
    # The router's end alone is set lower: it drops what is larger, and nobody tells the sender.
    near.offload(False)
    near.b.host.ip("link", "set", near.b.interface, "mtu", 1400 - 4)
    client = left.run([*PROBE, far_link.b.ipv4, "--request", "64K", "--time", "30"], timeout=60,
                      status=1)
    holds("the large ones seem to vanish" in client.stderr(), client.stderr())
    holds("chokepoint probe path" in client.stderr(), client.stderr())
    holds(probe(left, far_link.b.ipv4, "--time", "0.3")["calls"] > 0, "small calls pass")


def test_a_name_of_both_families_that_differ(lab):
    left, path = far(lab, Way(delay_ms=10), Way(delay_ms=10))
    names = with_names(left, f"{path.b.ipv4} voyager", f"{path.b.ipv6} voyager")
    told = left.json([*names, *PROBE, "voyager", "--time", "0.5", "--json"], timeout=60)
    for family, end in (("ipv4", path.b.ipv4), ("ipv6", path.b.ipv6)):
        same(told["families"][family]["addresses"], [end], family)
        same(told["families"][family]["connection"], "connected", family)
    same(told["dual_stack_finding"], None, "finding where both are alike")
    between(told["other_family"]["latency_ms"]["median"], 20, 35, "over the other family, ms")
    # What has an address of IPv6 and does not answer there.
    names = with_names(left, f"{path.b.ipv4} voyager", "fd00:dead::1 voyager")
    told = left.json([*names, *PROBE, "voyager", "--time", "0.5", "--json"], timeout=60)
    same(told["peer"]["family"], "ipv4", "family that was used")
    same(told["other_family"], None, "calls over the other one")
    holds("only IPv4 works" in told["dual_stack_finding"], told["dual_stack_finding"])


def test_families_of_unlike_latency_are_told(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right)
    wire = lab.path(left, right, Way(delay_ms=10), Way(delay_ms=10))
    right.serve(SERVE, PORT)
    names = with_names(left, f"{wire.b.ipv4} voyager", f"{link.b.ipv6} voyager")
    told = left.json([*names, *PROBE, "voyager", "-4", "--time", "0.5", "--json"], timeout=60)
    same(told["peer"]["address"], wire.b.ipv4, "address")
    holds("unlike paths" in told["dual_stack_finding"], told["dual_stack_finding"])


def test_an_interrupt_keeps_what_was_measured(lab):
    left, _, link = linked(lab)
    client = left.start([*PROBE, link.b.ipv4, "--time", "60", "--json"])
    client.until(lambda: link.b.counters()["received_bytes"] > 3_000_000, 20, "calls")
    client.signal(signal.SIGINT)
    same(client.wait(20), 130, "exit status")
    told = client.document()
    holds(told["interrupted"], "the document does not say so")
    holds(told["calls"] > 100, "what was measured is gone")
    hold_together(told)
    holds(probe(left, link.b.ipv4, "--time", "0.3")["calls"] > 0, "the server takes no other test")


def test_no_server_and_one_that_does_not_know_it(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right)
    client = left.run([*PROBE, link.b.ipv4], timeout=40, status=1)
    holds("is 'chokepoint serve' running there?" in client.stderr(), client.stderr())
    right.serve([os.environ["CHOKEPOINT_OTHER_VERSION"], *SERVE[1:], "--offer", "tcp,udp"], PORT)
    client = left.run([*PROBE, link.b.ipv4], timeout=40, status=1)
    holds("upgrade it there" in client.stderr(), client.stderr())


def test_a_port_that_is_blocked_one_way(lab):
    left, right, link = linked(lab)
    # What the server sends has no route.
    right.ip("rule", "add", "pref", "10", "ipproto", "tcp", "sport", PORT, "blackhole")
    client = left.run([*PROBE, link.b.ipv4], timeout=40, status=1)
    holds("firewall" in client.stderr(), client.stderr())


def test_a_wrong_key_is_refused(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right)
    right.serve(["chokepoint", "serve", "--quiet", "--key-file", key_for(lab, "b")], PORT)
    client = left.run([*PROBE, link.b.ipv4, "--key-file", key_for(lab, "a")], timeout=40, status=1)
    holds("key" in client.stderr(), client.stderr())
