"""What probes find between a scenario's hosts before its job starts, left in the job's record: the
first rank probes every other one, by each link and either address family."""

import contextlib

PORT = 5210
TCP = ("--both", "--time", "0.5")
WORDS = {"tcp": TCP, "path": ("--time", "5")}
SECONDS = 30


def probe(stage, probes, records):
    first, *others = stage.scenario.ranks
    for other in others:
        with served(stage.hosts[other]):
            for address in addresses(stage, first, other):
                for kind in probes:
                    stage.hosts[first].run(
                        ["chokepoint", "probe", kind, *WORDS[kind], "--record", records, "--node",
                         first, "--quiet", address], timeout=SECONDS)


@contextlib.contextmanager
def served(host):
    server = host.serve(["chokepoint", "serve", "--insecure-open"], port=PORT)
    yield
    server.stop()


def addresses(stage, first, other):
    """Of the other host, on the links that join the two, or else where it meets the switch."""
    pair = {stage.hosts[first], stage.hosts[other]}
    direct = [link for link in stage.links.values() if {link.a.host, link.b.host} == pair]
    ends = [link.of(stage.hosts[other]) for link in direct] or [stage.hosts[other].ends[0]]
    return [address for end in ends for address in (end.ipv4, end.ipv6)]
