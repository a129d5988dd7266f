"""Control groups of this machine. A folder that is no mount of them is never one, whatever files
lie in it."""

import pathlib

import namespaces
from kernel import Skipped

MOUNTS = pathlib.Path("/proc/self/mounts")


def mounts():
    """Where each hierarchy is mounted, its version, and its controllers."""
    for line in MOUNTS.read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind in ("cgroup", "cgroup2"):
            yield pathlib.Path(place), kind, options.split(",")


def second_version():
    return next((place for place, kind, _ in mounts() if kind == "cgroup2"), None)


def first_version(controller):
    return next((place for place, kind, options in mounts()
                 if kind == "cgroup" and controller in options), None)


class Group:
    """Named after its lab, so that the next one sweeps what one that was killed has left."""

    def __init__(self, parent, name):
        if parent is None:
            raise Skipped("needs control groups")
        for left in namespaces.abandoned(parent):
            left.rmdir()
        self.parent = parent
        self.folder = parent / namespaces.name_for(name)
        try:
            self.folder.mkdir()
        except OSError as error:
            raise Skipped(f"no control group can be made here: {error}") from error

    def write(self, name, value):
        (self.folder / name).write_text(f"{value}\n")

    def take(self, pid):
        self.write("cgroup.procs", pid)

    def close(self):
        """What is still in it goes back to where all are."""
        for pid in (self.folder / "cgroup.procs").read_text().split():
            (self.parent / "cgroup.procs").write_text(pid)
        self.folder.rmdir()
