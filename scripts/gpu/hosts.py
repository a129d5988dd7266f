"""Two hosts of network namespaces on this machine, with one cable of a known rate between them; for
root, where the kernel allows it."""

import os
import shutil
import subprocess
import time

from outcome import Skipped

NAMES = ("gpu-check-a", "gpu-check-b")
ADDRESSES = ("10.213.7.1", "10.213.7.2")
INTERFACE = "cable0"
UP_S = 5


class Hosts:
    """Use it in a 'with': the namespaces are gone behind it."""

    def __init__(self, session, rate_mbps=None):
        self.session = session
        self.rate_mbps = rate_mbps

    def __enter__(self):
        if os.geteuid() != 0:
            raise Skipped("namespaces need root")
        if not shutil.which("ip"):
            raise Skipped("namespaces need 'ip' (iproute2)")
        try:
            self.make()
        except Skipped:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.session.finish()
        self.remove()

    def call(self, *words):
        made = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
        if made.returncode != 0:
            raise Skipped(f"this machine does not allow it: {' '.join(words)}: "
                          f"{made.stderr.strip() or made.returncode}")
        return made.stdout

    def make(self):
        self.remove()
        for name in NAMES:
            self.call("ip", "netns", "add", name)
            self.call("ip", "-n", name, "link", "set", "lo", "up")
        self.call("ip", "link", "add", INTERFACE, "netns", NAMES[0], "type", "veth",
                  "peer", "name", INTERFACE, "netns", NAMES[1])
        for name, address in zip(NAMES, ADDRESSES):
            self.call("ip", "-n", name, "address", "add", f"{address}/24", "dev", INTERFACE)
            self.call("ip", "-n", name, "link", "set", INTERFACE, "up")
            if self.rate_mbps:
                self.limit(name)
        for name in NAMES:
            self.wait_until_up(name)

    def wait_until_up(self, name):
        """The kernel may take a second to call an interface up, and NCCL overlooks one that is not."""
        deadline = time.monotonic() + UP_S
        while "state UP" not in self.call("ip", "-n", name, "link", "show", "dev", INTERFACE):
            if time.monotonic() > deadline:
                raise Skipped(f"{INTERFACE} of {name} does not come up")
            time.sleep(0.02)

    def limit(self, name):
        if not shutil.which("tc"):
            raise Skipped("a limit needs 'tc' (iproute2)")
        burst = max(64_000, int(self.rate_mbps * 1e6 / 8 / 1000))  # of a millisecond
        self.call("tc", "-n", name, "qdisc", "add", "dev", INTERFACE, "root", "tbf", "rate",
                  f"{self.rate_mbps}mbit", "burst", str(burst), "latency", "20ms")

    def remove(self):
        for name in NAMES:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False,
                           timeout=20)

    @staticmethod
    def inside(rank, command):
        return ["ip", "netns", "exec", NAMES[rank], *command]
