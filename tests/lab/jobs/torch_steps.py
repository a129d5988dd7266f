#!/usr/bin/env python3
"""usage: torch_steps.py STEPS STEP_MS RESULT TRUTH, as a rank by RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT

A model that learns by PyTorch over Gloo, and comes to the same weights to the bit each time. Prints a
line a step, without times. RESULT gets the weights, TRUTH when each step began and when its line was
printed, by the monotonic clock.
"""

import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

WIDTH = 128


def gradients_agreed(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def step(model, optimizer):
    data = torch.randn(16, WIDTH)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(data), data.sum(1, keepdim=True) / WIDTH ** 0.5)
    loss.backward()
    gradients_agreed(model)
    optimizer.step()
    told = loss.detach()
    dist.all_reduce(told)
    return told.item()


def train(steps, step_s, result, truth):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    torch.manual_seed(1 + dist.get_rank())
    moments = []
    for number in range(1, steps + 1):
        began_ns = time.monotonic_ns()
        loss = step(model, optimizer)
        time.sleep(max(0, step_s - (time.monotonic_ns() - began_ns) / 1e9))
        print(f"step {number} loss {loss:.9g}", flush=True)
        moments.append(f"{began_ns} {time.monotonic_ns()}\n")
    weights = [parameter.detach().numpy().tobytes() for parameter in model.parameters()]
    pathlib.Path(result).write_bytes(b"".join(weights))
    pathlib.Path(truth).write_text("".join(moments))


def main(steps, step_ms, result, truth):
    dist.init_process_group("gloo")
    train(int(steps), int(step_ms) / 1000, result, truth)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
