"""Ranks of a collective on the lab's hosts, as torchrun would have started them."""

import json

from checks import same

PORT = 29500


def variables(number, ranks, leader):
    return {"RANK": str(number), "WORLD_SIZE": str(ranks), "LOCAL_RANK": "0",
            "MASTER_ADDR": leader, "MASTER_PORT": str(PORT)}


def measured(ends, *options, variable=None, timeout=100):
    """One rank at each end of links, which use these links: told so by --interface, or by this
    variable. What rank 0 printed."""
    ranks = []
    for number, end in enumerate(ends):
        told = [] if variable else ["--interface", end.interface]
        environment = variables(number, len(ends), ends[0].ipv4)
        if variable:
            environment[variable] = end.interface
        ranks.append(end.host.start(["chokepoint", "probe", "collective", "--backend", "gloo",
                                     "--json", *told, *options], environment))
    for rank in ranks:
        same(rank.wait(timeout), 0, rank.told())
    return ranks[0].document()


def plainly(ends, program, size_bytes, iterations, timeout=100):
    """The same all-reduce by the plain loop: how long its iterations took, in microseconds."""
    folder = ends[0].host.folder / f"plain-{ends[0].host.started}"
    folder.mkdir(parents=True)
    ranks = [end.host.start([program, number, len(ends), folder, end.interface, size_bytes,
                             iterations])
             for number, end in enumerate(ends)]
    for rank in ranks:
        same(rank.wait(timeout), 0, rank.told())
    times = [json.loads(rank.stdout())["times_us"] for rank in ranks]
    return [max(each) for each in zip(*times)]
