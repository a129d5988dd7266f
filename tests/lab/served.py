"""`chokepoint serve` under test: a server and its client on a link, and the proof that what
happened did it no harm: it serves whoever comes next, and holds no more descriptors and threads
than before."""

import os
import time

from checks import holds, soon

PORT = 5210
# What an operator is promised is a second; a test on a loaded machine may take longer, not forever.
SERVED_SECONDS = 5
SETTLED_SECONDS = 15


class Served:
    def __init__(self, lab, words=("--insecure-open",), client_words=(), limited=()):
        self.client, self.host = lab.host("client"), lab.host("server")
        self.link = lab.link(self.client, self.host)
        self.address = self.link.b.ipv4
        self.words, self.client_words = list(words), list(client_words)
        self.limited = list(limited)
        self.start()

    def start(self):
        self.process = self.host.serve([*self.limited, "chokepoint", "serve", *self.words], PORT)
        self.next_client()
        self.before = self.settled()

    def probe(self, *words):
        """What a client of this server is called like."""
        return ["chokepoint", "probe", "tcp", self.address, "--json", *self.client_words, *words]

    def next_client(self):
        """Seconds that a small test takes, its start included."""
        began = time.monotonic()
        told = self.client.json(self.probe("--bytes", "1M"), timeout=60)
        holds(told["bytes"] > 0, "the next client's test moved nothing")
        return time.monotonic() - began

    def footprint(self):
        of_process = f"/proc/{self.process.pid}"
        return {what: len(os.listdir(f"{of_process}/{what}")) for what in ("fd", "task")}

    def settled(self):
        """The footprint, once it no longer changes."""
        seen = self.footprint()
        for _ in range(50):
            time.sleep(0.1)
            seen, before = self.footprint(), seen
            if seen == before:
                break
        return seen

    def serves(self, after, within=SERVED_SECONDS):
        took = self.next_client()
        print(f"the next client was served in {took:.2f} s {after}")
        holds(took < within, f"the next client was served in {took:.1f} s {after}")

    def is_unharmed(self, after, within=SERVED_SECONDS):
        holds(self.process.running(), f"the server ended: {self.process.told()}")
        self.serves(after, within)
        soon(lambda: self.footprint() == self.before, SETTLED_SECONDS,
             f"{self.footprint()} instead of {self.before} {after}")

    def begin_test(self, *words):
        """A client in the midst of a test, with data on its way."""
        before = self.moved()
        client = self.client.start(self.probe(*words))
        client.until(lambda: self.moved() > before + 10_000_000, 20, "data of the test")
        return client

    def moved(self):
        """Bytes on the link, of both directions."""
        counted = self.link.b.counters()
        return counted["received_bytes"] + counted["sent_bytes"]
