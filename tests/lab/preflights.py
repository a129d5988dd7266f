"""A preflight of a cluster: run, read, and held against what is wrong there."""

import dataclasses
import re
import time

# This machine's clock, buffers and processors are no part of the test.
LIMITS = """
[link]
{rate}

[doctor]
take = "nothing"
"""
BOUND = re.compile(r"([\d.]+) (s|min) at most")
SERIOUS = ("WARNING", "CRITICAL")
START_SECONDS = 3  # beyond what was announced: the program's own start and end


@dataclasses.dataclass
class Told:
    status: int
    document: dict
    progress: str
    seconds: float

    def most_seconds(self):
        """What it said at its start that it takes at most; None if it did not."""
        found = BOUND.search(self.progress)
        return float(found[1]) * {"s": 1, "min": 60}[found[2]] if found else None

    def is_late(self):
        most = self.most_seconds()
        return most is None or self.seconds > most + START_SECONDS

    def serious(self):
        """Findings, with hosts by name."""
        names = [host["name"] for host in self.document["hosts"]]
        return [{**check, "hosts": [names[host] for host in check["hosts"]]}
                for check in self.document["checks"] if check["status"] in SERIOUS]

    def ways(self):
        """{(from, to): {figure: value}} of all pairs, the pair's own figures included."""
        names = [host["name"] for host in self.document["hosts"]]
        pairs = self.document["pairs"]
        found = {}
        for place in range(pairs["count"]):
            a, b = names[pairs["a"][place]], names[pairs["b"][place]]
            of_pair = {name: values[place] for name, values in pairs.items()
                       if isinstance(values, list) and values}
            for way, side in (((a, b), "there"), ((b, a), "back")):
                found[way] = of_pair | {name: values[place] for name, values in pairs[side].items()
                                        if values}
        return found

    def text(self):
        lines = [f"{check['status']} {check['id']} {check['subject']}: {check['found']}"
                 f" (wanted {check['wanted']}) {check['why']}" for check in self.serious()]
        return "\n".join([f"exit status {self.status} after {self.seconds:.1f} s", *lines])


def limits_file(cluster, knows_rates):
    """`knows_rates`: what the cables carry stands in it, as NICs of the lab do not know."""
    file = cluster.lab.folder / "limits.toml"
    file.write_text(LIMITS.format(rate=f"rate_mbps = {cluster.rate_mbps}" if knows_rates else ""))
    return file


def words(cluster, *more, knows_rates=False, as_delivered=False):
    """`as_delivered`: without any limits file, so that this machine's doctor is heard, too."""
    limits = [] if as_delivered else ["--limits", limits_file(cluster, knows_rates)]
    return ["chokepoint", "preflight", "--json", "--strict", "--key-file", cluster.key, *limits,
            *more, *cluster.names]


def start(cluster, *more, on=None, **how):
    return (on or cluster.head).start(words(cluster, *more, **how))


def finish(process, began, timeout=100):
    status = process.wait(timeout)
    seconds = time.monotonic() - began
    return Told(status, process.document(), process.stderr(), seconds)


def run(cluster, *more, midway=None, after=0, **how):
    """`midway` is called so many seconds after the start, and by its return the hosts are other."""
    began = time.monotonic()
    process = start(cluster, *more, **how)
    if midway:
        time.sleep(after)
        midway()
    return finish(process, began)


def complaints(told, truth, cluster):
    """What is not as it should be, a line each; nothing where all is right."""
    serious = told.serious()
    wanted_status = 3 if truth.hosts else 0
    if told.status != wanted_status:
        yield f"exit status {told.status} instead of {wanted_status}"
    if truth.hosts and not any(is_it(check, truth) for check in serious):
        yield f"no {' or '.join(truth.ids)} of {', '.join(truth.hosts)}"
    for check in serious:
        beyond = set(check["hosts"]) - set(truth.hosts) - set(truth.may)
        if beyond or not truth.hosts or not check["hosts"]:
            yield f"{check['id']} of {check['subject']}: {check['found']}"
    if told.is_late():
        yield f"it took {told.seconds:.1f} s, and said {told.most_seconds()} s at most"
    yield from not_measured(told, truth, cluster)


def is_it(check, truth):
    return (check["id"] in truth.ids and check["hosts"] and
            set(check["hosts"]) <= set(truth.hosts) and truth.place in (None, check["place"]))


def not_measured(told, truth, cluster):
    ways = told.ways()
    well = [name for name in cluster.names if name not in truth.lost]
    for sender in well:
        for receiver in well:
            if sender != receiver:
                figures = ways.get((sender, receiver), {})
                lacking = [name for name in ("rtt_ms", "udp_packets", "tcp_mbps")
                           if figures.get(name) is None]
                if lacking:
                    yield f"no {', '.join(lacking)} from {sender} to {receiver}"
