"""Disks that do what disks should not do."""

import contextlib

import kernel

MEGABYTE = 1_000_000


@contextlib.contextmanager
def disk_that_freezes(folder):
    """One whose writers the kernel holds where no signal reaches them, from freeze() on."""
    image = folder / "image"
    disk = folder / "freezing"
    disk.mkdir()
    with open(image, "wb") as file:
        file.truncate(64 * MEGABYTE)
    kernel.command("mkfs.ext4", "-q", image)
    kernel.command("mount", "-o", "loop", image, disk)
    try:
        yield disk
    finally:
        with contextlib.suppress(Exception):
            kernel.command("fsfreeze", "-u", disk)
        kernel.command("umount", "-l", disk)
