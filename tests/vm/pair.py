"""Machines for a test: one, or two on a wire of their own, booted side by side.

    with Machines() as machines:
        a, b = machines.pair()
        server = b.start(["ib_write_bw"])
        a.run(["ib_write_bw", b.ipv4])

The folder that the machines share with this host goes when they do, and that of a process that was
killed when the next one comes.
"""

import os
import pathlib
import shutil
import signal
import socket
import tempfile

import boot_files
import namespaces
from boot_files import Boot
from machine import Machine
from qemu import Shape

WIRE_BYTES = 4 << 20
FIRST_ALONE = 11


class Machines:
    def __init__(self, programs=()):
        """`programs`: folders in which they look for programs first."""
        self.programs = [str(folder) for folder in programs]
        self.machines = []
        self.sockets = []

    def __enter__(self):
        # Asked to end, this process ends as if by an exception: the folder goes, too.
        signal.signal(signal.SIGTERM, lambda *_: exit(128 + signal.SIGTERM))
        kernel = boot_files.found()
        namespaces.sweep()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=namespaces.name_for("vm-")))
        self.boot = Boot(kernel, boot_files.ramdisk(kernel, self.folder))
        (self.folder / "share").mkdir()
        return self

    def __exit__(self, *_):
        for machine in self.machines:
            machine.close()
        for end in self.sockets:
            end.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def share(self):
        return self.folder / "share"

    def machine(self, name, number, **how):
        """Booting; until_ready() waits. `how`: what qemu.Shape knows."""
        made = Machine(Shape(name, number, **how), self.boot, self.share, self.programs)
        self.machines.append(made)
        return made

    def alone(self, **how):
        """One that is joined to nothing; its own device is all it reaches."""
        number = FIRST_ALONE + len(self.machines)
        made = self.machine(f"m{number}", number, **how)
        made.until_ready()
        return made

    def pair(self, **how):
        """Two on a wire, a and b, each on a processor of its own where there are two."""
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sockets += ends
        for end in ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, WIRE_BYTES)
        allowed = sorted(os.sched_getaffinity(0))
        made = [self.machine(name, place + 1, wire=end.fileno(),
                             processor=allowed[place % len(allowed)], **how)
                for place, (name, end) in enumerate(zip("ab", ends))]
        for machine in made:
            machine.until_ready()
        return made
