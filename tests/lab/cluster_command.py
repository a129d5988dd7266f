"""usage: tests/lab/lab cluster [options] [COMMAND…]

A cluster of hosts at one switch or two, `chokepoint serve` on each, and a shell, or COMMAND, on
`head` or another of its hosts. There $HOSTS are their names, and $KEY is the file of their key.

  tests/lab/lab cluster --hosts 8
  tests/lab/lab cluster --fault loss=host3 sh -c 'chokepoint preflight --key-file $KEY $HOSTS'
  tests/lab/lab cluster --groups 2 --rtt-ms 15 --fault small_buffers=host2 …
"""

import argparse
import os
import pathlib
import subprocess

import cluster_faults
from cluster import Cluster
from lab import Failed, Lab


def arguments(words):
    parser = argparse.ArgumentParser(prog="tests/lab/lab cluster", usage=argparse.SUPPRESS,
                                     description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--rate-mbps", type=float, default=500, help="of each host's cable")
    parser.add_argument("--mtu", type=int, default=9000)
    parser.add_argument("--groups", type=int, default=1, choices=(1, 2), help="a switch each")
    parser.add_argument("--uplink-mbps", type=float, help="between two groups")
    parser.add_argument("--rtt-ms", type=float, default=0, help="of the uplink")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME=HOST[,VALUE]",
                        help="a function of tests/lab/cluster_faults.py; may be given again")
    parser.add_argument("--on", default="head", help="where COMMAND runs")
    parser.add_argument("--build", default=pathlib.Path(__file__).parents[2] / "build/release",
                        help="where chokepoint is")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="instead of a shell")
    return parser.parse_args(words)


def number_or_word(word):
    try:
        return float(word) if "." in word else int(word)
    except ValueError:
        return word


def bring_about(cluster, fault):
    name, _, values = fault.partition("=")
    function = getattr(cluster_faults, name, None)
    if not function:
        raise Failed(f"no such fault: '{name}'")
    function(cluster, *map(number_or_word, values.split(",") if values else []))


def main(words):
    asked = arguments(words)
    with Lab([asked.build]) as lab:
        cluster = Cluster(lab, asked.hosts, asked.rate_mbps, asked.mtu, asked.groups,
                          asked.uplink_mbps, asked.rtt_ms).serve()
        for fault in asked.fault:
            bring_about(cluster, fault)
        host = cluster.named(asked.on)
        command = asked.command or [os.environ.get("SHELL", "sh")]
        return subprocess.run(host.inside(command), check=False, env={
            **host.environment, "HOSTS": " ".join(cluster.names), "KEY": cluster.key}).returncode
