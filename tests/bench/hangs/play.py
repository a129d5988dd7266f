#!/usr/bin/env python3
"""usage: play.py CHOKEPOINT [--plays N] [--seed N] [--keep FOLDER]

Plays faults of a job over Gloo, of four to eight ranks, each rank in a network namespace of its own,
with PyTorch's Flight Recorder on, and asks `chokepoint diagnose --with DUMPS` for the reason. Prints
a line for each play and how many were right: the first sentence names the rank at fault and no other,
or, of a path that was cut, the call that does not end. Needs root and the chroot of
tests/lab/modern/make.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[2]
sys.path.insert(0, str(TREE / "tests/lab"))
import chroots  # noqa: E402  (not beside this file)

FAULTS = ("stuck", "skip", "skip-pair", "killed", "order", "sizes", "types", "kinds", "cut")


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Hosts:
    """Network namespaces on a bridge, in one namespace that holds the bridge."""

    def __init__(self, count):
        self.tag = f"hg{os.getpid() % 100000}"
        self.names = [f"{self.tag}-{rank}" for rank in range(count)]
        self.bridge = f"{self.tag}b"
        ip("netns", "add", self.bridge)
        ip("-n", self.bridge, "link", "add", "br0", "type", "bridge")
        ip("-n", self.bridge, "link", "set", "br0", "up")
        for rank, name in enumerate(self.names):
            ip("netns", "add", name)
            ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"p{rank}",
               "netns", self.bridge)
            ip("-n", self.bridge, "link", "set", f"p{rank}", "master", "br0", "up")
            ip("-n", name, "addr", "add", f"10.88.0.{rank + 1}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")

    def cut(self, rank):
        ip("-n", self.bridge, "link", "set", f"p{rank}", "nomaster")

    def close(self):
        for name in [*self.names, self.bridge]:
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "del", name)


def start(folder, hosts, rank, words):
    names = folder / "names"
    names.write_text("".join(f"10.88.0.{at + 1} r{at}\n" for at in range(len(hosts.names))))
    root = folder / f"root{rank}"
    root.mkdir()
    command = ["nsenter", f"--net=/run/netns/{hosts.names[rank]}", "unshare", "--uts", "--mount",
               "sh", "-c", 'hostname "$0" && exec "$@"', f"r{rank}", chroots.IN_ROOT, root,
               chroots.modern(), names, TREE, folder, "--", chroots.PYTHON, HERE / "job.py", *words]
    environment = {**os.environ, **chroots.MODERN, "RANK": str(rank),
                   "WORLD_SIZE": str(len(hosts.names)), "MASTER_ADDR": "10.88.0.1",
                   "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1",
                   "TORCH_FR_BUFFER_SIZE": "2000"}
    with (folder / f"log{rank}").open("wb") as log:
        return subprocess.Popen([str(word) for word in command], env=environment, stdout=log,
                                stderr=log, start_new_session=True)


def wait_for(reached, seconds, what):
    end = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError(f"not in {seconds} s: {what}")
        time.sleep(0.1)


def play(folder, fault, ranks, at, step):
    """Leaves the ranks' dumps in the folder."""
    hosts, jobs = Hosts(ranks), []
    try:
        jobs = [start(folder, hosts, rank, [folder, fault, at, step]) for rank in range(ranks)]
        wait_for((folder / "fault").exists, 90, "the step of the fault")
        if fault == "cut":
            hosts.cut(at)
        time.sleep(2.5)
        (folder / "dump").touch()
        # Gloo ends a process at a message of a size that it does not expect.
        wait_for(lambda: all(job.poll() is not None or (folder / f"dump_rank_{rank}").exists()
                             for rank, job in enumerate(jobs)), 30, "dumps")
    finally:
        for job in jobs:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        hosts.close()


def diagnosed(program, folder):
    dumps = folder / "dumps"
    dumps.mkdir()
    for dump in folder.glob("dump_rank_?"):
        shutil.copy(dump, dumps)
    done = subprocess.run([program, "diagnose", "--with", dumps, "--json"], capture_output=True,
                          check=True, cwd=folder)
    brief = subprocess.run([program, "diagnose", "--with", dumps, "--brief"], capture_output=True,
                           check=True, text=True, cwd=folder)
    return json.loads(done.stdout), brief.stdout.strip()


def is_right(verdict, fault, ranks, at):
    where = verdict["where"]
    named = where["ranks"] or ([] if where["rank"] is None else [where["rank"]])
    if verdict["class"] != "stalled":
        return False
    if fault == "cut":
        return verdict["cause"] == "call-hung" and (not named or at in named)
    causes = {"sizes": ("call-mismatch",), "types": ("call-mismatch",),
              "kinds": ("call-mismatch",), "order": ("call-order",),
              "skip": ("rank-reported", "call-mismatch", "call-order"),
              "skip-pair": ("rank-reported", "call-mismatch", "call-order")}
    return named == [at] and verdict["cause"] in causes.get(fault, ("rank-reported",))


def main():
    words = argparse.ArgumentParser()
    words.add_argument("program", type=pathlib.Path)
    words.add_argument("--plays", type=int, default=len(FAULTS))
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--keep", type=pathlib.Path)
    words = words.parse_args()
    program = words.program.resolve()
    right = 0
    for number in range(words.plays):
        draw = random.Random(f"{words.seed}/{number}")
        fault = FAULTS[number % len(FAULTS)]
        ranks = draw.choice((4, 6, 8))
        at, step = draw.randrange(ranks), draw.randrange(4, 30)
        if fault == "killed" and at == 0:  # it holds the store
            at = 1
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hang"))
        try:
            play(folder, fault, ranks, at, step)
            document, sentence = diagnosed(program, folder)
            ok = is_right(document["verdict"], fault, ranks, at)
        except (TimeoutError, subprocess.CalledProcessError) as error:
            ok, sentence = False, str(error)
        right += ok
        print(f"{'right' if ok else 'WRONG'} {number}: {fault} of rank {at} of {ranks} at step "
              f"{step}: {re.sub(chr(10), ' ', sentence)}", flush=True)
        if words.keep:
            shutil.copytree(folder, words.keep / f"{number}-{fault}-{at}-{ranks}",
                            ignore=shutil.ignore_patterns("root*"), dirs_exist_ok=True)
        shutil.rmtree(folder)
    print(f"{right} of {words.plays} right")
    return 0 if right == words.plays else 1


if __name__ == "__main__":
    sys.exit(main())
