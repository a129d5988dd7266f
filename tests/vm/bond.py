"""A bond of several links between two machines: VLANs of their one wire, which is why each member can
be given trouble of its own. The kernel chooses the member by a hash of addresses and ports.
"""

import contextlib

from kernel import Skipped

MODULES = ("bonding", "8021q")
MAKE = """
set -e
ip link add bond0 type bond mode balance-xor xmit_hash_policy layer3+4 miimon 100
for number in $(seq {members}); do
  ip link add link eth0 name member$number type vlan id $number
  ip link set member$number master bond0
done
ip link set bond0 up
ip address add {address}/24 dev bond0
"""


def address(machine):
    return f"10.78.0.{machine.shape.number}"


@contextlib.contextmanager
def bonded(pair, members):
    """Meanwhile the two are joined by a bond of so many members, member1 and so on."""
    for machine in pair:
        for module in MODULES:
            if machine.run(["modprobe", module], status=None).status:
                raise Skipped(f"needs the kernel's module {module}")
        machine.run(["sh", "-c", MAKE.format(members=members, address=address(machine))])
    try:
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
