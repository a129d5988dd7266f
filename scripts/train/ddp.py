#!/usr/bin/env python3
"""usage: ddp.py [options], as a rank by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT

PyTorch's DistributedDataParallel over Gloo: a perceptron that learns a made-up function, so that
it needs no data set. Prints a line a step. torchrun sets the variables, or they are set by hand:

  chokepoint run --out runs/a -- torchrun --nnodes 2 --node-rank 0 … ddp.py --steps 100

The gradients of a step have 4 · depth · width² bytes.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from marks import Marks


def options(about):
    words = argparse.ArgumentParser(description=about, fromfile_prefix_chars="@",
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--width", type=int, default=1024)
    words.add_argument("--depth", type=int, default=2, help="layers of this width")
    words.add_argument("--batch", type=int, default=16, help="samples a step and rank")
    words.add_argument("--steps", type=int, default=100)
    words.add_argument("--seconds", type=float, default=float("inf"), help="or for so long")
    words.add_argument("--bucket-mb", type=float, default=25, help="of gradients, exchanged at once")
    words.add_argument("--late-rank", type=int, help="comes late in each backward pass")
    words.add_argument("--late-ms", type=float, default=0, help="so much")
    words.add_argument("--quiet", action="store_true", help="no line a step")
    words.add_argument("--marks", action="store_true", help="marks each step by CHOKEPOINT_MARKS")
    return words


class Late(torch.autograd.Function):
    """Does nothing but sleep in the backward pass."""

    @staticmethod
    def forward(ctx, value, seconds):
        ctx.seconds = seconds
        return value.view_as(value)

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(ctx.seconds)
        return gradient, None


class Perceptron(nn.Module):
    def __init__(self, width, depth, late_s):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.last = nn.Linear(width, 1)
        self.late_s = late_s

    def forward(self, value):
        return self.last(self.hidden(value))

    def hidden(self, value):
        for layer in self.layers:
            value = torch.relu(layer(value))
        return Late.apply(value, self.late_s) if self.late_s else value


def batch_of(size, width):
    """What is to be learnt: whether the first half of the numbers outweighs the second."""
    data = torch.randn(size, width)
    half = width // 2
    return data, (data[:, :half].sum(1) - data[:, half:].sum(1)).unsqueeze(1) / width ** 0.5


def stepping(model, asked):
    """What makes a step, and returns its loss."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step():
        data, wanted = batch_of(asked.batch, asked.width)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(data), wanted)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def agreed(loss, is_over):
    """The mean loss of all ranks, and whether any of them wants to end."""
    told = torch.tensor([loss, float(is_over)])
    dist.all_reduce(told)
    # Or Gloo's thread frees the last one, needs Python for that, and has the lock that Python waits
    # for while it ends: PyTorch 1.13 hangs then.
    agreed.last = told
    return told[0].item() / dist.get_world_size(), told[1].item() > 0


def train(step, asked, every=1):
    """All ranks agree to end at every `every`-th step, which is an exchange."""
    marks = Marks(asked.marks)
    began = time.monotonic()
    for number in range(1, asked.steps + 1):
        marks.step(number)
        step_began = time.monotonic()
        loss, is_over = step(), False
        if number % every == 0:
            loss, is_over = agreed(loss, step_began - began >= asked.seconds)
        if not asked.quiet:
            print(f"step {number} loss {loss:.4f} "
                  f"time {(time.monotonic() - step_began) * 1000:.1f}ms", flush=True)
        if is_over:
            break


def main():
    asked = options(__doc__).parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    is_late = dist.get_rank() == asked.late_rank
    model = Perceptron(asked.width, asked.depth, asked.late_ms / 1000 if is_late else 0)
    train(stepping(DistributedDataParallel(model, bucket_cap_mb=asked.bucket_mb), asked), asked)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("RANK", "0")
    os.environ.setdefault("WORLD_SIZE", "1")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    main()
