"""A PCIe slot for an interface of the lab, which has none: what programs of the host see in /sys.

    /sys/class/net/to-b ─▶ /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/net/to-b
    /sys/bus/pci/devices/{0000:00:01.0, 0000:01:00.0}: the port, and the NIC in it

Each program of a host has a mount namespace of its own: there, folders that have the slot are
mounted over the kernel's. The files of the interface stay the kernel's, by links.
"""

import os
import pathlib

from kernel import Skipped

ROOT = pathlib.Path("/sys/devices/pci0000:00")
PORT, NIC = "0000:00:01.0", "0000:01:00.0"
BRIDGE_CLASS, ETHERNET_CLASS = "0x060400", "0x020000"


def put_into_slot(end, slot):
    """`slot`: speed_gts, width, max_speed_gts, max_width, and speed_mbps of the NIC's line."""
    if not ROOT.exists():
        raise Skipped(f"needs {ROOT}, to put a slot in its place")
    port = end.host.folder / "slot" / PORT
    nic = port / NIC
    (nic / "net" / end.interface).mkdir(parents=True)
    for device, kind in ((port, BRIDGE_CLASS), (nic, ETHERNET_CLASS)):
        describe(device, kind, slot)
    (nic / "net" / end.interface / "speed").write_text(f"{slot['speed_mbps']}\n")
    script = end.host.folder / "slot" / "mount.sh"
    script.write_text(MOUNT.format(fixture=port, interface=end.interface, port=PORT, nic=NIC))
    end.host.prologue = f". {script}"


def describe(device, kind, slot):
    for name, value in {
            "class": kind, "vendor": "0x8086", "device": "0x1592", "numa_node": -1,
            "local_cpulist": f"0-{os.cpu_count() - 1}",
            "current_link_speed": f"{slot['speed_gts']:.1f} GT/s PCIe",
            "current_link_width": slot["width"],
            "max_link_speed": f"{slot['max_speed_gts']:.1f} GT/s PCIe",
            "max_link_width": slot["max_width"]}.items():
        (device / name).write_text(f"{value}\n")


MOUNT = """
real=/sys/devices/virtual/net devices=/sys/devices/pci0000:00
names=$(ls $real)
for folder in $devices /sys/class/net /sys/bus/pci/devices; do
  mount -t tmpfs none $folder
done
cp -r {fixture} $devices/
nic=$devices/{port}/{nic}
for file in $real/{interface}/*; do
  [ -e $nic/net/{interface}/${{file##*/}} ] || ln -s $file $nic/net/{interface}/
done
ln -s ../../../{nic} $nic/net/{interface}/device
for name in $names; do
  ln -s ../../devices/virtual/net/$name /sys/class/net/
done
ln -sfn ../../devices/pci0000:00/{port}/{nic}/net/{interface} /sys/class/net/{interface}
ln -s ../../../devices/pci0000:00/{port} ../../../devices/pci0000:00/{port}/{nic} /sys/bus/pci/devices/
"""
