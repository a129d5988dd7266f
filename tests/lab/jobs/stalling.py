#!/usr/bin/env python3
"""usage: stalling.py [options], as a rank by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT

Training by PyTorch's DDP over Gloo in which a rank does something else between two steps, once or
every so many steps: it hangs, or pauses as healthy jobs do; beside ddp.py's options. It sleeps in
place of a GPU's computing.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts/train"))

import ddp  # noqa: E402

MEGABYTE = bytes(1_000_000)


def loop(asked):
    while True:
        pass


def lock(asked):
    threading.Event().wait()


def sleep(asked):
    time.sleep(1e6)


def other(asked):
    """A collective that the other ranks do not come to."""
    dist.broadcast(torch.zeros(8), dist.get_rank())


def size(asked):
    dist.all_reduce(torch.zeros(1000))


def evaluate(asked):
    """Computes on data that it makes."""
    until = time.monotonic() + asked.pause_s
    while time.monotonic() < until:
        data = torch.randn(256, 256)
        torch.relu(data @ data).sum().item()


def checkpoint(asked):
    """Writes as much as it can, to the disk."""
    until = time.monotonic() + asked.pause_s
    place = asked.folder / f"saved-{os.getpid()}"
    while time.monotonic() < until:
        with open(place, "wb") as file:
            for _ in range(64):
                file.write(MEGABYTE)
            file.flush()
            os.fsync(file.fileno())
    place.unlink()


def compiles(asked):
    """Processes of its own work for it."""
    until = time.monotonic() + asked.pause_s
    while time.monotonic() < until:
        subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)


DOES = {each.__name__: each for each in (loop, lock, sleep, other, size, evaluate, checkpoint,
                                         compiles)}


def stepping(model, asked):
    make = ddp.stepping(model, asked)
    made = 0

    def is_now():
        return made == asked.at_step or (asked.every and made % asked.every == 0)

    def step():
        nonlocal made
        made += 1
        time.sleep(asked.compute_ms / 1000)
        if asked.does and is_now() and asked.rank in (-1, dist.get_rank()):
            DOES[asked.does](asked)
        return make()

    return step


def options():
    words = ddp.options(__doc__)
    words.add_argument("--compute-ms", type=float, default=50, help="of a step, slept")
    words.add_argument("--does", choices=sorted(DOES))
    words.add_argument("--at-step", type=int, default=0)
    words.add_argument("--every", type=int, default=0, help="steps")
    words.add_argument("--rank", type=int, default=-1, help="which; else all")
    words.add_argument("--pause-s", type=float, default=0)
    words.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()),
                       help="for what it saves")
    return words


def main():
    asked = options().parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    model = DistributedDataParallel(ddp.Perceptron(asked.width, asked.depth, 0),
                                    bucket_cap_mb=asked.bucket_mb)
    ddp.train(stepping(model, asked), asked)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
