"""Clusters themselves: what each host is told of the others, what its cable carries and drops."""

import socket

import cluster_faults
import traffic
from checks import between, holds, near, same
from cluster import PORT, Cluster

GOODPUT = 8948 / 9014  # of TCP's payload in a frame of 9000 bytes


def test_each_host_has_its_name_and_knows_all_others(lab):
    cluster = Cluster(lab, 4)
    for host in [cluster.head, *cluster.hosts]:
        same(host.run(["cat", "/proc/sys/kernel/hostname"]).stdout().strip(), host.name, "name")
        for name in cluster.names:
            told = host.run(["getent", "ahosts", name]).stdout().split()[0]
            same(told, cluster.address(name), f"address of {name}")


def test_a_name_can_be_wrong_on_one_host_while_programs_run(lab):
    cluster = Cluster(lab, 3)
    cluster_faults.name_is_anothers(cluster, "host2", on="host1", other="host3")
    told = {host.name: host.run(["getent", "ahosts", "host2"]).stdout().split()[0]
            for host in cluster.hosts}
    same(told, {"host1": "10.99.0.3", "host2": "10.99.0.2", "host3": "10.99.0.2"}, "host2")


def all_at_once(cluster, ways):
    """What each way carries, in Mb/s, while all are on."""
    started = [cluster.named(sender).start(
        ["chokepoint", "probe", "tcp", receiver, "--share", "--json", "--quiet", "--time", "1",
         "--key-file", cluster.key]) for sender, receiver in ways]
    for process in started:
        same(process.wait(30), 0, process.told())
    return [process.document()["throughput_mbps"] for process in started]


def measure_a_slow_cable_is_slow_one_way_and_only_for_its_host(lab):
    cluster = Cluster(lab, 4, rate_mbps=200).serve()
    cluster_faults.slow_sending(cluster, "host2")
    for ways, rates in (((("host1", "host2"), ("host3", "host4")), (200, 200)),
                        ((("host2", "host1"), ("host4", "host3")), (20, 200))):
        for way, found, rate in zip(ways, all_at_once(cluster, ways), rates):
            near(found, rate * GOODPUT, 0.1, f"from {way[0]} to {way[1]}")


def measure_two_groups_share_their_uplink(lab):
    cluster = Cluster(lab, 4, rate_mbps=200, groups=2).serve()
    cluster_faults.slow_uplink(cluster, times=4)
    same(cluster.groups(), [["host1", "host2"], ["host3", "host4"]], "groups")
    across = all_at_once(cluster, (("host1", "host3"), ("host2", "host4")))
    near(sum(across), 100 * GOODPUT, 0.1, "over the uplink")


def arrived(cluster, sender, receiver, sizes):
    """Of datagrams of these sizes, all headers counted, those that came."""
    to = cluster.address(receiver)
    with traffic.bound(cluster.named(sender), cluster.address(sender)) as out, \
            traffic.bound(cluster.named(receiver), to) as into:
        into.settimeout(0.3)
        into.setsockopt(socket.SOL_SOCKET, traffic.SO_RCVBUFFORCE, 16 << 20)
        found(out, into)
        for size in sizes:
            out.sendto(bytes(size - 28), into.getsockname())
        return received(into)


def found(out, into):
    """Waits for the neighbour's address, if it answers: meanwhile little would be kept."""
    out.sendto(b"first", into.getsockname())
    received(into)


def received(into):
    sizes = []
    try:
        while True:
            sizes.append(len(into.recv(65_536)) + 28)
    except TimeoutError:
        return sizes


def test_loss_is_a_cable_s_alone(lab):
    cluster = Cluster(lab, 3)
    cluster_faults.loss(cluster, "host2", share=0.1)
    many = [100] * 2000
    for way, low, high in ((("host1", "host2"), 120, 280), (("host2", "host1"), 120, 280),
                           (("host1", "host3"), 0, 0)):
        between(len(many) - len(arrived(cluster, *way, many)), low, high, f"lost {way}")


def test_what_is_too_large_vanishes_without_a_word(lab):
    cluster = Cluster(lab, 3)
    cluster_faults.one_way_black_hole(cluster, "host2")
    sizes = [1400, 1500, 1501, 9000]
    same(arrived(cluster, "host1", "host2", sizes), [1400, 1500], "to host2")
    same(arrived(cluster, "host2", "host1", sizes), sizes, "from host2")


def test_a_host_that_is_gone_still_sees_its_link(lab):
    cluster = Cluster(lab, 3).serve()
    cluster_faults.gone(cluster, "host2")
    same(arrived(cluster, "host1", "host2", [100]), [], "to host2")
    same(arrived(cluster, "host2", "host1", [100]), [], "from host2")
    holds(cluster.named("host2").listens(PORT), "the agent ended")
    state = cluster.named("host2").run(["cat", "/sys/class/net/eth0/operstate"]).stdout().strip()
    same(state, "up", "host2's link")


def test_a_probe_s_words_pass_where_large_packets_vanish(lab):
    """With so many streams the server's answer is larger than what passes."""
    cluster = Cluster(lab, 2).serve()
    cluster_faults.black_hole(cluster, "host2")
    told = cluster.named("host1").json(
        ["chokepoint", "probe", "udp", "host2", "--receive", "--streams", "16", "--bytes", "1000",
         "--rate", "10M", "--time", "0.5", "--json", "--quiet", "--key-file", cluster.key])
    same(told["lost"], 0, "packets lost")
