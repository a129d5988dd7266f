"""Real PyTorch over Gloo, watched live: what a capture tells of it, held against what each rank says
that it did."""

import collections
import json
import pathlib
import signal
import subprocess

from checks import holds, same
from lab import Skipped

JOB = pathlib.Path(__file__).parent.parent / "training" / "gloo_kinds.py"
PORT = 29500
LARGEST = 2 << 20
NAMES = {"send": "point-to-point"}


def python_with_torch():
    """The system's, where another one comes first in the path."""
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import torch.distributed"], check=False,
                          capture_output=True).returncode == 0:
            return python
    raise Skipped("needs python3-torch")


def rank(python, host, number, link, interface):
    return host.start(["env", f"GLOO_SOCKET_IFNAME={interface}", "OMP_NUM_THREADS=1", python,
                       JOB, number, 2, link.a.ipv4, PORT, "--largest", LARGEST])


def test_every_collective_of_a_real_job_is_found_live(lab):
    python = python_with_torch()
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right)
    watching = left.start(["chokepoint", "capture", "-i", link.a.interface, "--json"])
    watching.until(lambda: "listening on" in watching.stderr(), 20, "listening")
    ranks = [rank(python, left, 0, link, link.a.interface),
             rank(python, right, 1, link, link.b.interface)]
    for each in ranks:
        holds(each.wait(80) == 0, each.told())
    watching.signal(signal.SIGINT)
    same(watching.wait(20), 130, "exit status")

    told = {one["kind"]: one for one in watching.document()["gloo"]["collectives"]}
    done = [json.loads(line) for line in ranks[0].stdout().splitlines()]
    for kind, count in collections.Counter(one["kind"] for one in done).items():
        name = NAMES.get(kind, kind.replace("_", "-"))
        same(told.get(name, {}).get("count"), count, f"{kind}, how often")
    sizes = collections.Counter()
    for one in done:
        sizes[one["kind"]] += one["bytes"]
    same(told["scatter"]["sent_bytes"], sizes["scatter"], "scattered by the root")
    same(told["gather"]["received_bytes"], sizes["gather"], "gathered by the root")
    same(told["all-reduce"]["sent_bytes"], sizes["all_reduce"], "all-reduced, n = 2, sent")
    same(told["point-to-point"]["sent_bytes"], sizes["send"], "sent to the other")
    same(set(told), {NAMES.get(kind, kind.replace("_", "-")) for kind in sizes}, "kinds")
