"""A virtual machine that is a host: its own kernel, real verbs by rxe, and the files of this host.

Its root is this host's, read-only; what it writes there goes to its memory. The shared folder alone
is the same for both. It is emulated (no KVM is needed), and ends with whoever made it: QEMU is told
to die with its parent, and has nothing to lose.

A machine is used by one thread.
"""

import contextlib
import select
import socket
import subprocess
import time

import kernel
import qemu
from kernel import Failed
from program import Program

BOOT_SECONDS = 90


class Machine:
    def __init__(self, shape, boot, share, path=()):
        """Booting. `share`: a folder of this host, writable, at the same path inside. `path`: folders
        searched for programs first."""
        self.shape, self.share, self.path = shape, share, list(path)
        self.folder = share / shape.name
        self.folder.mkdir()
        self.is_ready = False
        self.ended = {}  # status by number of program
        self.heard = b""
        self.started = 0
        self.agent, agent = socket.socketpair()
        self.terminal, terminal = socket.socketpair() if shape.has_terminal else (None, None)
        inside = [end.fileno() for end in (agent, terminal) if end]
        words = qemu.command(shape, boot, share, *inside)
        with open(self.folder / "qemu", "wb") as said:
            self.qemu = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                pass_fds=[*inside, *([] if shape.wire is None else [shape.wire])],
                preexec_fn=kernel.die_with_parent)
        for end in (agent, terminal):
            if end:
                end.close()

    @property
    def name(self):
        return self.shape.name

    @property
    def ipv4(self):
        return f"10.77.0.{self.shape.number}"

    @property
    def ipv6(self):
        return f"fd77::{self.shape.number}"

    def until_ready(self):
        end = time.monotonic() + BOOT_SECONDS
        while not self.is_ready:
            self.hear(max(0, end - time.monotonic()))
            if time.monotonic() > end:
                raise Failed(f"machine {self.name} did not boot in {BOOT_SECONDS} s\n{self.log()}")

    def hear(self, seconds=0):
        """Takes what the agent has to say, waiting for it so long at most."""
        if not select.select([self.agent], [], [], seconds)[0]:
            return
        more = self.agent.recv(65536)
        if not more:
            raise Failed(f"machine {self.name} is gone\n{self.log()}")
        *lines, self.heard = (self.heard + more).split(b"\n")
        for words in (line.decode().split() for line in lines):
            if words[0] == "ready":
                self.is_ready = True
            else:
                self.ended[int(words[1])] = int(words[2])

    def ask(self, *words):
        with contextlib.suppress(BrokenPipeError):
            self.agent.sendall(f"{' '.join(map(str, words))}\n".encode())

    def start(self, words, environment=None):
        """A program of this machine; it runs until it ends or the machine does."""
        self.started += 1
        program = Program(self, self.started, words, environment or {})
        self.ask("run", self.started)
        return program

    def run(self, words, timeout=60, status=0, environment=None):
        """Runs to the end and returns the program; any exit status but the wanted one is a failure,
        unless that is None."""
        program = self.start(words, environment)
        found = program.wait(timeout)
        if status is not None and found != status:
            raise Failed(f"exit status {found} instead of {status}: {program.told()}")
        return program

    def output(self, words, **how):
        return self.run(words, **how).stdout()

    def json(self, words, **how):
        """Runs to the end; what it printed, which is one JSON document."""
        return self.run(words, **how).document()

    def serve(self, words, port, timeout=30, **how):
        """Starts a server and waits until it listens on this TCP port."""
        program = self.start(words, **how)
        wanted = f"( sport = :{port} )"
        program.until(lambda: self.output(["ss", "-Hltn", wanted]), timeout, f"listener on {port}")
        return program

    def tc(self, *words):
        self.run(["tc", *words])

    @contextlib.contextmanager
    def netem(self, *words):
        """Meanwhile what leaves this machine is treated so: netem("loss", "1%")."""
        self.tc("qdisc", "add", "dev", "eth0", "root", "netem", "limit", "10000", *words)
        try:
            yield
        finally:
            self.tc("qdisc", "delete", "dev", "eth0", "root")

    def rdma_counters(self, device="rxe0", port=1):
        folder = f"/sys/class/infiniband/{device}/ports/{port}/hw_counters"
        told = self.output(["sh", "-c", f"cd {folder} && grep -H . *"])
        return {name: int(value) for name, _, value in
                (line.partition(":") for line in told.splitlines()) if name != "lifespan"}

    def gids(self, device="rxe0", port=1):
        """Their index by what they are, as sysfs writes them."""
        folder = f"/sys/class/infiniband/{device}/ports/{port}/gids"
        told = self.output(["sh", "-c", f"cd {folder} && grep -Hv ^0000:0000:0000:0000:0000:0000 *"])
        return {gid: int(index) for index, _, gid in
                (line.partition(":") for line in told.splitlines())}

    def log(self):
        """The end of what its kernel and QEMU said."""
        said = [(self.folder / name).read_text(errors="replace") for name in ("qemu", "console")
                if (self.folder / name).exists()]
        return "\n".join("".join(said).splitlines()[-20:])

    def close(self):
        self.qemu.kill()
        self.qemu.wait()
        self.agent.close()
