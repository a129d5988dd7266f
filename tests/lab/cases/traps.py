"""Known traps (docs/reference/traps.md) that can be laid for real: doctor and preflight see each, and
see nothing where it is taken away."""

import errno
import socket

import preflights
from checks import holds, same
from cluster import Cluster

HEADERS = 28  # of IPv4 and UDP


def doctor(host, check, environment=None):
    """What doctor says by this check of anything but PASS, with its subject."""
    told = host.run(["chokepoint", "doctor", "--json"], status=None, environment=environment)
    return [found for found in told.document()["checks"]
            if found["id"] == check and found["status"] != "PASS"]


def passes(host, address, size):
    """Whether an IP packet of this size gets out of the host whole."""
    with host.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, 10, 3)  # IP_MTU_DISCOVER: IP_PMTUDISC_PROBE
        try:
            sender.sendto(bytes(size - HEADERS), (address, 9))
        except OSError as error:
            same(error.errno, errno.EMSGSIZE, "why it was refused")
            return False
    return True


def received(end):
    return end.host.counters(end.interface)["received_packets"]


def test_a_tunnel_without_room_for_its_headers(lab):
    """VXLAN over a link of 1500, as the kernel sets it up without a device: its MTU is 1500, too, and
    full packets are cut in two. With 1450 none is."""
    link = lab.link(lab.host("left"), lab.host("right"))
    for end, far in ((link.a, link.b), (link.b, link.a)):
        number = 1 if end is link.a else 2
        end.host.ip("link", "add", "vx7", "address", f"02:00:00:00:00:0{number}", "type", "vxlan",
                    "id", 7, "dstport", 4789, "local", end.ipv4, "remote", far.ipv4)
        end.host.ip("address", "add", f"10.200.0.{number}/24", "dev", "vx7")
        end.host.ip("link", "set", "vx7", "up")
        end.host.ip("neighbour", "replace", f"10.200.0.{3 - number}", "lladdr",
                    f"02:00:00:00:00:0{3 - number}", "dev", "vx7")
    found, = doctor(link.a.host, "host.mtu-mismatch")
    same((found["status"], found["subject"]), ("WARNING", "vx7"), "what doctor says")
    same(found["next_step"], "ip link set vx7 mtu 1450", "what to do")
    passes(link.a.host, "10.200.0.2", 100)  # who is where is known then
    before = received(link.b)
    holds(passes(link.a.host, "10.200.0.2", 1500), "a full packet of the tunnel gets out")
    cut = received(link.b) - before
    link.a.host.ip("link", "set", "vx7", "mtu", 1450)
    same(doctor(link.a.host, "host.mtu-mismatch"), [], "with room for the headers")
    before = received(link.b)
    holds(passes(link.a.host, "10.200.0.2", 1450), "a full packet of the tunnel gets out")
    holds(received(link.b) - before < cut, "it was cut in two all the same")


def test_nccl_is_left_a_bridge_that_ends_here(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right)
    left.ip("link", "add", "br-made", "type", "bridge")
    left.ip("address", "add", "172.18.0.1/16", "dev", "br-made")
    left.ip("link", "set", "br-made", "up")
    found, = doctor(left, "names.nccl-interface", {"NCCL_SOCKET_IFNAME": "^lo,docker"})
    same(found["status"], "WARNING", "where another one is left, too")
    holds("br-made ends in this host" in found["found"], found["found"])
    same(found["next_step"], f"export NCCL_SOCKET_IFNAME='={link.a.interface}'", "what to do")
    found, = doctor(left, "names.nccl-interface", {"NCCL_SOCKET_IFNAME": "br"})
    same(found["status"], "CRITICAL", "where it is the only one")
    same(doctor(left, "names.nccl-interface",
                {"NCCL_SOCKET_IFNAME": f"={link.a.interface}"}), [], "the link by its name")


def test_a_container_without_shared_memory(lab):
    """As Docker mounts it, and one that is full."""
    host = lab.host("left")
    host.prologue = "mount -t tmpfs -o size=2g shm /dev/shm"
    same(doctor(host, "memory.shared"), [], "2 GiB")
    host.prologue = "mount -t tmpfs -o size=64m shm /dev/shm"
    found, = doctor(host, "memory.shared")
    same(found["status"], "WARNING", "64 MiB")
    holds(found["found"].startswith("64 MiB, "), found["found"])
    host.prologue = ("mount -t tmpfs -o size=1g shm /dev/shm; "
                     "dd if=/dev/zero of=/dev/shm/full bs=1M count=1000 2>/dev/null")
    found, = doctor(host, "memory.shared")
    holds(found["found"] == "1 GiB, 24 MiB free", found["found"])


def test_a_ring_of_three_with_cables_between_the_same_ports(lab):
    """By the order of their names: to-host1 before to-host3 at host2, and so on."""
    cluster = Cluster(lab, 3).serve()
    first, second, third = cluster.hosts
    for a, b in ((first, second), (second, third), (third, first)):
        lab.link(a, b)
    told = preflights.run(cluster, "--quick")
    ring, = [check for check in told.document["checks"] if check["id"] == "link.ring"]
    same(ring["status"], "INFO", "of hosts without RDMA")
    holds("host1 to-host2 to host2 to-host1" in ring["found"], ring["found"])
    holds("host2 to-host3 to host3 to-host2" in ring["found"], ring["found"])
    holds("host1 to-host3" not in ring["found"], ring["found"])
