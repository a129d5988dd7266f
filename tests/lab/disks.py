"""Disks that do what disks should not do."""

import contextlib

import kernel

MEGABYTE = 1_000_000


@contextlib.contextmanager
def disk_that_freezes(folder):
    """One whose writers the kernel holds where no signal reaches them, from freeze() on."""
    disk = folder / "freezing"
    disk.mkdir()
    with of_a_file(folder / "image", disk, 64 * MEGABYTE):
        try:
            yield disk
        finally:
            with contextlib.suppress(Exception):
                kernel.command("fsfreeze", "-u", disk)


@contextlib.contextmanager
def of_a_file(image, folder, size):
    """Mounted on the folder."""
    with open(image, "wb") as file:
        file.truncate(size)
    kernel.command("mkfs.ext4", "-q", image)
    kernel.command("mount", "-o", "loop", image, folder)
    try:
        yield folder
    finally:
        kernel.command("umount", "-l", folder)
