"""A bond of several links between two machines: VLANs of their one wire, which is why each member can
be given trouble of its own. The kernel chooses the member by a hash of addresses and ports.
"""

import contextlib
import time

from kernel import Failed, Skipped

MODULES = ("bonding", "8021q")
MAKE = """
set -e
ip link add bond0 type bond mode {mode} xmit_hash_policy layer3+4 miimon 100
for number in $(seq {members}); do
  ip link add link eth0 name member$number type vlan id $number
  ip link set member$number master bond0
done
ip link set bond0 up
ip address add {address}/24 dev bond0
"""


LACP = "802.3ad lacp_rate fast"


def address(machine):
    return f"10.78.0.{machine.shape.number}"


def aggregated(machine, members):
    """Whether the two ends have agreed by LACP that so many members are one link."""
    told = machine.run(["cat", "/proc/net/bonding/bond0"]).stdout()
    return f"Number of ports: {members}" in told


def await_aggregation(machine, members):
    latest = time.monotonic() + 60
    while not aggregated(machine, members):
        if time.monotonic() > latest:
            raise Failed(f"{machine.shape.name} aggregated no {members} members by LACP")
        time.sleep(0.5)


@contextlib.contextmanager
def bonded(pair, members, mode="balance-xor"):
    """Meanwhile the two are joined by a bond of so many members, member1 and so on. LACP needs a
    speed, which a virtual interface has only where one was set.
    """
    for machine in pair:
        for module in MODULES:
            if machine.run(["modprobe", module], status=None).status:
                raise Skipped(f"needs the kernel's module {module}")
        if mode == LACP and machine.run(["ethtool", "-s", "eth0", "speed", "1000", "duplex",
                                         "full"], status=None).status:
            raise Skipped("needs ethtool")
        machine.run(["sh", "-c", MAKE.format(members=members, mode=mode,
                                             address=address(machine))])
    try:
        if mode == LACP:
            for machine in pair:
                await_aggregation(machine, members)
        yield
    finally:
        for machine in pair:
            machine.run(["sh", "-c", f"ip link delete bond0; for number in $(seq {members}); do "
                                     "ip link delete member$number; done"])


@contextlib.contextmanager
def trouble(machine, member, *words):
    """Meanwhile what leaves the machine over this member is treated so: "netem", "loss", "2%"."""
    device = f"member{member}"
    machine.tc("qdisc", "add", "dev", device, "root", *words)
    try:
        yield
    finally:
        machine.tc("qdisc", "delete", "dev", device, "root")


def rdma_devices(pair):
    """An RDMA device on the bond of each of the two, beside the one on its wire."""
    for machine in pair:
        machine.run(["rdma", "link", "add", "rxe-bond", "type", "rxe", "netdev", "bond0"])
    return "rxe-bond"
