"""The command that is a machine: what QEMU is told of its hardware, and its kernel of its place."""

import dataclasses
import pathlib

import boot_files

MEMORY_MB = 1024
# A nanosecond of the machine's clock for each instruction, and none for waiting: whatever else this
# host does, the same work takes the same time there.
CLOCK_OF_INSTRUCTIONS = ["-icount", "shift=0,sleep=off"]


@dataclasses.dataclass
class Shape:
    name: str
    number: int  # of its addresses
    rdma: bool = True
    mtu: int = 9000
    wire: int | None = None  # the descriptor of a socket to the other machine
    processor: int | None = None  # of this host, which is then the only one it runs on
    has_terminal: bool = False  # /dev/hvc0
    counts_instructions: bool = False  # of a machine that is alone: a peer's clock would be another


def command(shape, boot, share, agent, terminal=None):
    """`agent`, `terminal`: descriptors of its ports. Its console goes to a file beside its programs'."""
    pinned = [] if shape.processor is None else ["taskset", "-c", str(shape.processor)]
    clock = CLOCK_OF_INSTRUCTIONS if shape.counts_instructions else []
    return [*pinned, *computer(boot, share / shape.name / "console"), *clock,
            "-append", kernel_line(shape, boot, share),
            *folder("root", pathlib.Path("/"), "readonly=on"), *folder("share", share),
            *ports(agent, terminal), *network(shape)]


def computer(boot, console):
    return [boot_files.program("qemu-system-x86_64"), "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-machine", "q35", "-accel", "tcg", "-cpu", "max",
            "-smp", "1", "-m", str(MEMORY_MB), "-serial", f"file:{console}",
            "-kernel", str(boot.kernel.image), "-initrd", str(boot.ramdisk)]


def kernel_line(shape, boot, share):
    """What the kernel does not know becomes a variable of guest/init and guest/agent."""
    told = {"share": share, "machine": shape.name, "number": shape.number, "mtu": shape.mtu,
            "modules": boot.kernel.modules, "rdma": "yes" if shape.rdma else "no"}
    return " ".join(["console=ttyS0", "loglevel=4", "panic=-1", "mitigations=off", "tsc=reliable",
                     *(f"{name}={value}" for name, value in told.items())])


def folder(tag, path, *options):
    return ["-virtfs", ",".join(["local", f"path={path}", f"mount_tag={tag}", "security_model=none",
                                 "multidevs=remap", *options])]


def ports(agent, terminal):
    words = ["-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,fd={agent}",
             "-device", "virtserialport,chardev=agent,nr=1"]
    if terminal is not None:
        words += ["-chardev", f"socket,id=terminal,fd={terminal}",
                  "-device", "virtconsole,chardev=terminal,nr=0"]
    return words


def network(shape):
    if shape.wire is None:
        return []
    return ["-netdev", f"dgram,id=wire,local.type=fd,local.str={shape.wire}",
            "-device", f"virtio-net-pci,netdev=wire,mac=52:54:00:77:00:{shape.number:02x},"
                       f"host_mtu={shape.mtu},romfile="]
