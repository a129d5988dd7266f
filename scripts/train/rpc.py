#!/usr/bin/env python3
"""usage: rpc.py [options], as a process by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT

Training by PyTorch's remote calls (torch.distributed.rpc over TensorPipe): rank 0 has the data and
no model, each other rank has a model. In a step rank 0 sends its batch to every worker and averages
what they predict. It needs no data set. Every rank prints a line a step.

  chokepoint run --out runs/a -- env RANK=0 WORLD_SIZE=2 MASTER_ADDR=… MASTER_PORT=29500 rpc.py

A step has three calls, one after another, each to all workers at once:

  forward     batch × width numbers there, batch × outputs back
  backward    their gradients there, an empty answer back
  optimizer   a call without data

With --whole it has one: the batch and what is to be learnt there, the predictions back.
"""

import os
import time

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from torch import nn
from torch.distributed.optim import DistributedOptimizer

import ddp
from marks import Marks

LEARNING_RATE = 1e-3
# TensorPipe's ways through memory work between network namespaces, too, and no packet is seen then.
BY_TCP = {"_transports": ["uv"], "_channels": ["mpt_uv", "basic"]}


def options(about):
    words = ddp.options(about)
    words.add_argument("--outputs", type=int, default=1, help="numbers that come back for a sample")
    words.add_argument("--whole", action="store_true", help="one call a step")
    words.add_argument("--tcp", action="store_true",
                       help="by TCP alone, also between processes of one host")
    words.add_argument("--timeout", type=float, default=60, help="seconds that a call may take")
    return words


class Worker(nn.Module):
    """The model that rank 0 calls. Its steps begin as the call that brings a batch arrives."""

    def __init__(self, asked, rank):
        super().__init__()
        torch.manual_seed(rank)
        late_s = asked.late_ms / 1000 if rank == asked.late_rank else 0
        self.layers = ddp.Perceptron(asked.width, asked.depth, late_s)
        self.layers.last = nn.Linear(asked.width, asked.outputs)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=LEARNING_RATE)
        self.steps = Steps(asked)

    def forward(self, data):
        self.steps.end()
        self.steps.begin()
        return self.layers(data)

    def learn(self, data, wanted):
        """A whole step: what is predicted, before anything is learnt of this batch."""
        predicted = self(data)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(predicted, wanted).backward()
        self.optimizer.step()
        return predicted.detach()

    def parameters_here(self):
        return [rpc.RRef(parameter) for parameter in self.parameters()]

    def end(self):
        self.steps.end()


class Steps:
    """Marks where a step begins, and prints a line as it ends."""

    def __init__(self, asked):
        self.marks, self.is_quiet = Marks(asked.marks), asked.quiet
        self.number, self.began = 0, None

    def begin(self):
        self.number, self.began = self.number + 1, time.monotonic()
        self.marks.step(self.number)

    def end(self, loss=None):
        if self.began is not None and not self.is_quiet:
            told = "" if loss is None else f"loss {loss:.4f} "
            print(f"step {self.number} {told}time {(time.monotonic() - self.began) * 1000:.1f}ms",
                  flush=True)
        self.began = None


def mean(tensors):
    return torch.stack(tensors).mean(0)


def by_calls(workers):
    """A step as PyTorch's distributed autograd makes it."""
    optimizer = DistributedOptimizer(
        torch.optim.Adam,
        [parameter for worker in workers for parameter in worker.rpc_sync().parameters_here()],
        lr=LEARNING_RATE)

    def step(data, wanted):
        with dist_autograd.context() as context:
            calls = [worker.rpc_async().forward(data) for worker in workers]
            loss = nn.functional.mse_loss(mean([call.wait() for call in calls]), wanted)
            dist_autograd.backward(context, [loss])
            optimizer.step(context)
            return loss.item()

    return step


def whole(workers):
    def step(data, wanted):
        calls = [worker.rpc_async().learn(data, wanted) for worker in workers]
        return nn.functional.mse_loss(mean([call.wait() for call in calls]), wanted).item()

    return step


def train(asked, names):
    workers = [rpc.remote(name, Worker, args=(asked, rank)) for rank, name in enumerate(names, 1)]
    step = whole(workers) if asked.whole else by_calls(workers)
    steps = Steps(asked)
    began = time.monotonic()
    while steps.number < asked.steps and time.monotonic() - began < asked.seconds:
        data, wanted = ddp.batch_of(asked.batch, asked.width)
        steps.begin()
        steps.end(step(data, wanted.expand(-1, asked.outputs)))
    for worker in workers:
        worker.rpc_sync().end()


def main():
    asked = options(__doc__).parse_args()
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    rpc.init_rpc(name_of(rank), rank=rank, world_size=ranks,
                 rpc_backend_options=rpc.TensorPipeRpcBackendOptions(
                     rpc_timeout=asked.timeout, **BY_TCP if asked.tcp else {}))
    torch.manual_seed(rank)
    if rank == 0:
        train(asked, [name_of(worker) for worker in range(1, ranks)])
    rpc.shutdown()  # a worker answers calls until rank 0 comes here, too


def name_of(rank):
    return f"worker{rank}" if rank else "master"


if __name__ == "__main__":
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    main()
