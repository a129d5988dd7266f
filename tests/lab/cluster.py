"""A cluster of a lab: hosts with names, cables and `chokepoint serve`, at one switch or at two.

    cluster = Cluster(lab, 4, rate_mbps=500)
    cluster.serve()
    told = cluster.head.json(["chokepoint", "preflight", *cluster.names, "--json",
                              "--key-file", cluster.key])

         head
          │
    ┌─────┴─────┐   uplink    ┌───────────┐
    │ switch-a  ├─────────────┤ switch-b  │      one group: one switch, no uplink
    └─┬───┬───┬─┘             └─┬───┬───┬─┘
    host1 …                        … hostN

Host k is 10.99.0.k and fd99::k at its interface eth0; `head`, where the user sits, is no host of
the cluster. Every one has an /etc/hosts of its own, with the names of all. What is wrong in a
cluster is brought about by cluster_faults.py.
"""

import secrets

from lab import Way
from switches import Switch

PORT = 5210
INTERFACE = "eth0"
HEAD = 254


class Cluster:
    def __init__(self, lab, count, rate_mbps=500, mtu=9000, groups=1, uplink_mbps=None, rtt_ms=0):
        """`rate_mbps` of every host's cable, each way; `uplink_mbps` where there are two groups:
        without it, what all hosts of a group send; `rtt_ms` of the uplink."""
        self.lab, self.rate_mbps, self.mtu = lab, rate_mbps, mtu
        self.switches = [Switch(lab.host(f"switch-{name}"), mtu) for name in "ab"[:groups]]
        self.cables, self.known = {}, {}
        self.head = self.host("head", HEAD, self.switches[0])
        per_group = -(-count // groups)
        self.hosts = [self.host(f"host{k}", k, self.switches[(k - 1) // per_group])
                      for k in range(1, count + 1)]
        self.names = [host.name for host in self.hosts]
        self.uplink = self.join(uplink_mbps or rate_mbps * per_group, rtt_ms) if groups > 1 else ()
        self.key = self.key_file("key")
        self.servers = {}
        self.write_names()

    def host(self, name, number, switch):
        host = self.lab.host(name)
        cable = switch.plug(host, INTERFACE, f"10.99.0.{number}/24", f"fd99::{number:x}/64")
        cable.limit(self.rate_mbps, self.rate_mbps)
        self.cables[name] = cable
        host.prologue = f"mount --bind {self.names_file(host)} /etc/hosts"
        return host

    def join(self, rate_mbps, rtt_ms):
        first, second = self.switches
        if not rtt_ms:
            ends = first.join(second)
            for end in ends:
                end.limit(rate_mbps)
            return ends
        wire = self.lab.cable(first.host, second.host, Way(rate_mbps, rtt_ms / 2))
        return first.join(second, wire)

    def key_file(self, name):
        """A new key, as `chokepoint serve --help` tells one to make it."""
        file = self.lab.folder / name
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(32) + "\n")
        return str(file)

    # Names: what each host's /etc/hosts says, by host and name.

    def names_file(self, host):
        host.folder.mkdir(parents=True, exist_ok=True)
        return host.folder / "hosts"

    def write_names(self):
        """Also while programs of the hosts run: the file stays the same."""
        for host in [self.head, *self.hosts]:
            known = {name: cable.host_end.ipv4 for name, cable in self.cables.items()}
            known |= self.known.get(host.name, {})
            lines = [f"{address} {name}\n" for name, address in known.items()]
            self.names_file(host).write_text("127.0.0.1 localhost\n" + "".join(lines))

    def set_name(self, on, name, address):
        """What one host takes another's name, or its own, for."""
        self.known.setdefault(on, {})[name] = address
        self.write_names()

    # Agents.

    def serve(self, names=None):
        """`chokepoint serve` on these hosts, else on all."""
        for name in names or self.names:
            self.serve_on(name)
        return self

    def serve_on(self, name, program="chokepoint", key=None, words=()):
        host = self.named(name)
        self.servers[name] = host.serve(
            [program, "serve", "--quiet", "--key-file", key or self.key, *words], PORT)
        return self.servers[name]

    def named(self, name):
        return next(host for host in [self.head, *self.hosts] if host.name == name)

    def address(self, name):
        return self.cables[name].host_end.ipv4

    def groups(self):
        """The names of each switch's hosts."""
        return [[name for name in self.names if self.cables[name].port.host is switch.host]
                for switch in self.switches]
