"""What a machine boots from: a kernel with its modules, and the initial ramdisk made of them.

The kernel is the one that scripts/setup fetched, or this system's own. The ramdisk has busybox, the
modules in the order in which they are loaded, and guest/; it is made anew for each pair of
machines, in a folder of theirs.
"""

import dataclasses
import gzip
import lzma
import os
import pathlib
import shutil
import subprocess

from kernel import Skipped

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
MODULES = ("virtio_pci", "virtio_net", "virtio_console", "9pnet_virtio", "9p", "overlay",
           "dummy", "crc32_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm",
           "sch_netem", "sch_tbf", "sch_red")
NEEDED = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio",
          "modprobe": "kmod", "rdma": "iproute2", "ibv_devinfo": "ibverbs-utils"}
SEARCH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


@dataclasses.dataclass
class Kernel:
    image: pathlib.Path
    root: pathlib.Path  # above lib/modules
    version: str

    @property
    def modules(self):
        return self.root / "lib" / "modules" / self.version


@dataclasses.dataclass
class Boot:
    kernel: Kernel
    ramdisk: pathlib.Path


def program(name):
    found = shutil.which(name, path=SEARCH)
    if not found:
        raise Skipped(f"needs {name} (package {NEEDED[name]})")
    return found


def found():
    """Skips where there is nothing to boot."""
    for name in NEEDED:
        program(name)
    for root in (TREE / "build" / "vm", pathlib.Path("/")):
        for driver in sorted(root.glob("lib/modules/*/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko*")):
            version = driver.relative_to(root).parts[2]
            image = root / "boot" / f"vmlinuz-{version}"
            if os.access(image, os.R_OK):
                return Kernel(image, root, version)
    raise Skipped("needs a kernel with rdma_rxe: ./scripts/setup test fetches one")


def modules_in_order(kernel, names):
    """Each after those it needs; what the kernel has built in is left out."""
    paths = []
    for name in names:
        told = subprocess.run([program("modprobe"), "-d", kernel.root, "-S", kernel.version,
                               "--show-depends", name], capture_output=True, text=True)
        if told.returncode != 0:
            raise Skipped(f"the kernel {kernel.version} has no module {name}")
        paths += [pathlib.Path(line.split()[1]) for line in told.stdout.splitlines()
                  if line.startswith("insmod ")]
    return list(dict.fromkeys(paths))


def plain(module):
    """Its contents, however the distribution packs modules."""
    packed = module.read_bytes()
    if module.suffix == ".xz":
        return lzma.decompress(packed)
    if module.suffix == ".gz":
        return gzip.decompress(packed)
    if module.suffix == ".zst":
        return subprocess.run(["zstd", "-dc", module], capture_output=True, check=True).stdout
    return packed


def put_modules(kernel, names, tree):
    """Into modules/ of a ramdisk; modules/order lists them as they are loaded."""
    (tree / "modules").mkdir(parents=True)
    order = []
    for module in modules_in_order(kernel, names):
        order.append(module.name.split(".ko")[0] + ".ko")
        (tree / "modules" / order[-1]).write_bytes(plain(module))
    (tree / "modules" / "order").write_text("".join(f"{name}\n" for name in order))


def pack(tree, image):
    listed = "".join(f"{path.relative_to(tree)}\n" for path in sorted(tree.rglob("*")))
    with open(image, "wb") as out:
        subprocess.run([program("cpio"), "--create", "--format=newc", "--quiet"], cwd=tree,
                       input=listed.encode(), stdout=out, check=True)


def ramdisk(kernel, folder):
    """Made in a folder of its own; the path of the image."""
    tree = folder / "ramdisk"
    put_modules(kernel, MODULES, tree)
    (tree / "bin").mkdir()
    shutil.copy(program("busybox"), tree / "bin" / "busybox")
    for name in ("init", "agent"):
        shutil.copy(HERE / "guest" / name, tree / name)
    image = folder / "ramdisk.cpio"
    pack(tree, image)
    return image
