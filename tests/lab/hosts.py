"""A host of the lab: a network namespace with a host name, in which programs are run.

A program sees the namespace's interfaces in /sys/class/net and the host's name as its own; files,
processes and time are the machine's.
"""

import contextlib
import os
import subprocess

import kernel
import namespaces
from processes import Process

# Tests bring their own rules about buffers; what they leave alone must not depend on the machine's
# earlier connections, nor wait for duplicate address detection.
SYSCTLS = {
    "net.ipv4.tcp_no_metrics_save": 1,
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    "net.ipv4.icmp_ratelimit": 0,
    "net.ipv6.icmp.ratelimit": 0,
    "net.ipv6.conf.all.accept_dad": 0,
    "net.ipv6.conf.default.accept_dad": 0,
    "net.ipv6.conf.default.dad_transmits": 0,
    "net.ipv6.conf.default.accept_ra": 0,
    "net.ipv6.conf.default.router_solicitations": 0,
}
NAME_AND_EXEC = 'echo "$0" >/proc/sys/kernel/hostname; {prologue}; exec "$@"'


class Host:
    def __init__(self, name, folder, congestion="cubic", path=()):
        self.name = name
        self.namespace = namespaces.name_for(name)
        self.folder = folder
        self.environment = {"CHOKEPOINT_HISTORY": "none", **os.environ,
                            "PATH": ":".join([*path, *kernel.search_path()])}
        self.ends = []
        self.processes = []
        self.started = 0
        self.prologue = ":"  # of a shell, before each program: what else it is to find in its place
        namespaces.create(self.namespace, congestion)
        self.ip("link", "set", "lo", "up")
        self.sysctls(SYSCTLS)

    def ip(self, *words):
        return kernel.command("ip", "-n", self.namespace, *words)

    def tc(self, *words):
        return kernel.command("tc", "-n", self.namespace, *words)

    def entered(self):
        """For this thread: sockets made meanwhile are the host's, and stay so."""
        return kernel.entered(self.namespace)

    def sysctls(self, wanted):
        with self.entered():
            for name, value in wanted.items():
                kernel.set_sysctl(name, value)

    def sysctl(self, name):
        with self.entered():
            return kernel.get_sysctl(name)

    def forward(self):
        """Makes a router of it."""
        self.sysctls({"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})

    def route(self, destination, via):
        family = "-6" if kernel.is_ipv6(via) else "-4"
        self.ip(family, "route", "replace", destination, "via", via)

    def counters(self, interface):
        with self.entered():
            return kernel.interface_counters(interface)

    def tcp_counters(self):
        return self.protocol_counters("Tcp")

    def protocol_counters(self, protocol):
        with self.entered():
            return kernel.protocol_counters(protocol)

    def inside(self, words):
        """The command that runs one in this host."""
        return ["ip", "netns", "exec", self.namespace, "unshare", "--uts",
                "sh", "-c", NAME_AND_EXEC.format(prologue=self.prologue), self.name, *map(str, words)]

    def start(self, words, environment=None, stdin=subprocess.DEVNULL):
        """A process of this host; it and all it started end with the lab at the latest."""
        self.started += 1
        process = Process(self.inside(words), self.folder / f"{self.started}",
                          {**self.environment, **(environment or {})}, stdin)
        self.processes.append(process)
        return process

    def serve(self, words, port, timeout=20, **how):
        """Starts a server and waits until it listens on this TCP port."""
        process = self.start(words, **how)
        process.until(lambda: self.listens(port), timeout, f"listener on port {port}")
        return process

    def listens(self, port):
        with self.entered():
            return port in kernel.listening_ports()

    def run(self, words, timeout=30, status=0, **how):
        """Runs to the end and returns the process; any exit status but the wanted one is a failure,
        unless that is None."""
        process = self.start(words, **how)
        found = process.wait(timeout)
        if status is not None and found != status:
            raise kernel.Failed(f"exit status {found} instead of {status}: {process.told()}")
        return process

    def json(self, words, timeout=30, **how):
        """Runs to the end; what it printed, which is one JSON document."""
        return self.run(words, timeout, **how).document()

    def pids(self):
        return namespaces.processes(self.namespace)

    def close(self):
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.kill()
        with contextlib.suppress(kernel.Failed):
            namespaces.delete(self.namespace)


def with_names(host, *lines):
    """Words to put before a program that shall find these lines in /etc/hosts."""
    host.folder.mkdir(exist_ok=True)
    file = host.folder / "hosts"
    file.write_text("".join(f"{line}\n" for line in ("127.0.0.1 localhost", *lines)))
    return ["sh", "-c", f'mount --bind {file} /etc/hosts && exec "$@"', "sh"]
