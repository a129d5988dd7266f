"""Collectives by libgloo between hosts: how fast they are, and what holds them back."""

import ranks
from checks import between, carried, holds, same
from lab import Way

MIB = 1 << 20
# Of a frame of 1514 bytes, with time stamps.
GOODPUT = 1448 / 1514


def two_hosts(lab, **how):
    link = lab.link(lab.host("left"), lab.host("right"), **how)
    return link, [link.a, link.b]


def far_apart(lab, rtt_ms):
    left, right = lab.host("left"), lab.host("right")
    link = lab.path(left, right, Way(delay_ms=rtt_ms / 2))
    for host in (left, right):
        host.sysctls({"net.ipv4.tcp_rmem": "4096 33554432 67108864",
                      "net.ipv4.tcp_wmem": "4096 33554432 67108864"})
    return [link.a, link.b]


def only_size(told):
    same(len(told["sizes"]), 1, "sizes")
    same(told["sizes"][0]["checked"], True, "data checked")
    return told["sizes"][0]


def measure_an_all_reduce_fills_a_link_of_1_gb_per_second(lab):
    link, ends = two_hosts(lab, rate_mbps=1000)
    told = ranks.measured(ends, "--bytes", 32_000_000, "--iterations", 7)
    usual_us = only_size(told)["time_us"]["median"]
    carried(32e6 * 8 / usual_us, 1000 * GOODPUT, "bus bandwidth")
    same(told["interface"], link.a.interface, "interface")
    same(told["transport"], "tcp", "transport")
    same(told["family"], "ipv4", "family")
    same(told["local_address"], link.a.ipv4, "address")
    same(told["sockets_per_peer"], 1, "sockets")


def test_every_collective_passes_a_link_and_is_checked(lab):
    _, ends = two_hosts(lab, rate_mbps=1000)
    for collective in ("all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-receive"):
        told = ranks.measured(ends, "--collective", collective, "--bytes", "4M",
                              "--iterations", 3, "--type", "bf16")
        size = only_size(told)
        holds(size["busbw_mbps"] <= 1000 * GOODPUT * 1.1, f"{collective}: {size}")


def measure_gloo_credits_bound_an_all_reduce_over_15_ms(lab):
    """A message waits for the receiver's credit: two round trips an all reduce, whatever its size and
    however fast the path; the time that a machine takes to send it comes on top."""
    ends = far_apart(lab, 15)
    for size_bytes in (MIB, MIB // 4):
        told = ranks.measured(ends, "--bytes", size_bytes, "--iterations", 30)
        quickest_us = only_size(told)["time_us"]["min"]
        between(quickest_us, 2 * 15_000, 3 * 15_000, f"quickest of {size_bytes} bytes, µs")


def test_the_data_go_where_gloo_is_told(lab):
    left, right = lab.host("left"), lab.host("right")
    lab.link(left, right)
    other = lab.link(left, right)
    before = other.a.counters()["sent_bytes"]
    told = ranks.measured([other.a, other.b], "--bytes", "1M", "--iterations", 3,
                          variable="GLOO_SOCKET_IFNAME")
    same(told["interface"], other.a.interface, "interface")
    same(told["local_address"], other.a.ipv4, "address")
    holds(other.a.counters()["sent_bytes"] - before > 3 * MIB, "the data went elsewhere")


def key_file(lab):
    """A server starts programs only for who has its key."""
    path = lab.folder / "key"
    path.write_text("k" * 40)
    path.chmod(0o600)
    return path


def test_a_server_open_to_all_starts_no_ranks(lab):
    link, ends = two_hosts(lab)
    ends[1].host.serve(["chokepoint", "serve", "--insecure-open"], 5210)
    told = ends[0].host.run(["chokepoint", "probe", "collective", "--hosts", link.b.ipv4,
                             "--ranks-per-host", 2], status=1)
    holds("--offer" in told.stderr(), told.stderr())


def test_servers_start_ranks_on_the_way_by_which_they_were_reached(lab):
    """The hosts' names mean loopback here, as on a fresh Debian."""
    link, ends = two_hosts(lab, rate_mbps=1000)
    for end in ends:
        end.host.serve(["chokepoint", "serve", "--key-file", key_file(lab)], 5210)
    told = ends[0].host.json(["chokepoint", "probe", "collective", "--key-file", key_file(lab),
                              "--hosts", f"{link.a.ipv4},{link.b.ipv4}", "--bytes", "1M", "--iterations", 3,
                              "--json"], timeout=60)
    only_size(told)
    same(told["ranks"], 2, "ranks")
    same(told["interface"], link.a.interface, "interface")
    facts = told["host_facts"]
    same(set(facts["peers"]), {"right"}, "hosts that told how they are set up")
    same(facts["peers"]["right"]["kernel"], facts["own"]["kernel"], "kernel, of one machine")


def test_servers_start_ranks_of_the_family_by_which_they_were_reached(lab):
    """The interface's IPv4 addresses come first, and reach nobody."""
    link, ends = two_hosts(lab)
    for number, end in enumerate(ends):
        end.host.ip("address", "flush", "dev", end.interface, "to", f"{end.ipv4}/32")
        end.host.ip("address", "add", f"192.0.2.{number + 1}/32", "dev", end.interface)
        end.host.serve(["chokepoint", "serve", "--key-file", key_file(lab)], 5210)
    told = ends[0].host.json(["chokepoint", "probe", "collective", "--key-file", key_file(lab),
                              "--hosts", f"[{link.a.ipv6}],[{link.b.ipv6}]", "--bytes", "64K",
                              "--iterations", 3, "--timeout", 10, "--json"], timeout=60)
    only_size(told)
    same(told["family"], "ipv6", "family")
    same(told["local_address"], link.a.ipv6, "address")


def test_a_rank_whose_peer_dies_ends_with_an_error(lab):
    link, ends = two_hosts(lab, rate_mbps=1000)
    started = [end.host.start(["chokepoint", "probe", "collective", "--backend", "gloo",
                               "--interface", end.interface, "--bytes", "64M", "--time", "60",
                               "--json"], ranks.variables(number, 2, link.a.ipv4))
               for number, end in enumerate(ends)]
    began = link.b.counters()["sent_bytes"]
    started[1].until(lambda: link.b.counters()["sent_bytes"] > began + 32 * MIB, 30, "traffic")
    started[1].kill()
    same(started[0].wait(30), 1, started[0].told())
    holds(started[0].stderr().count("\n") >= 1, "nothing was said")
    if started[0].stdout():
        started[0].document()
