#!/usr/bin/env python3
"""usage: shapes.py --shape SHAPE [options], as a rank by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT

Training by PyTorch over Gloo whose communication is not DDP's usual one, beside ddp.py's options:

  accumulate   DDP that exchanges in the last of --micro backward passes only
  fp16         DDP whose gradients travel as 16 bits
  flat         one all-reduce of all gradients, when the backward pass is over
  zero         each gradient is reduced to its owner, each parameter broadcast by it
  gather       parameters are gathered from shards before each layer, gradients reduced after
  tp-dp        tensor parallel between the ranks of a host, data parallel between hosts
  pp-dp        a host is a stage of a pipeline, its ranks are data parallel
  experts      tokens go to their experts on all ranks and back (all-to-all), between the layers
"""

import pathlib
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts/train"))

import ddp  # noqa: E402

LEARNING_RATE = 1e-3


def backward(model, asked):
    data, wanted = ddp.batch_of(asked.batch, asked.width)
    loss = nn.functional.mse_loss(model(data), wanted)
    loss.backward()
    return loss.item()


class Parallel:
    """What DistributedDataParallel exchanges."""

    def __init__(self, model, asked):
        self.asked = asked
        self.model = DistributedDataParallel(model, bucket_cap_mb=asked.bucket_mb)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    def step(self):
        self.optimizer.zero_grad()
        loss = self.passes()
        self.optimizer.step()
        return loss

    def passes(self):
        return backward(self.model, self.asked)


class Accumulate(Parallel):
    def passes(self):
        with self.model.no_sync():
            for _ in range(self.asked.micro - 1):
                backward(self.model, self.asked)
        return backward(self.model, self.asked)


class Fp16(Parallel):
    def __init__(self, model, asked):
        super().__init__(model, asked)
        self.model.register_comm_hook(None, default_hooks.fp16_compress_hook)


class Flat:
    def __init__(self, model, asked):
        self.model, self.asked = model, asked
        self.optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    def step(self):
        self.optimizer.zero_grad()
        loss = backward(self.model, self.asked)
        self.exchange(list(self.model.parameters()))
        self.optimizer.step()
        return loss

    def exchange(self, parameters):
        flat = torch.cat([each.grad.flatten() for each in parameters])
        dist.all_reduce(flat)
        flat /= dist.get_world_size()
        sizes = [each.numel() for each in parameters]
        for each, part in zip(parameters, flat.split(sizes)):
            each.grad.copy_(part.view_as(each))


class Zero:
    """Parameter k belongs to rank k, counted round."""

    def __init__(self, model, asked):
        self.model, self.asked = model, asked
        self.parameters = list(model.parameters())
        own = self.parameters[dist.get_rank()::dist.get_world_size()]
        self.optimizer = torch.optim.Adam(own or [torch.zeros(1)], lr=LEARNING_RATE)

    def owned(self):
        return [(each, k % dist.get_world_size()) for k, each in enumerate(self.parameters)]

    def step(self):
        self.model.zero_grad()
        loss = backward(self.model, self.asked)
        for each, owner in self.owned():
            dist.reduce(each.grad, owner)
        self.optimizer.step()
        for each, owner in self.owned():
            dist.broadcast(each.data, owner)
        return loss


class Gather:
    """Every rank keeps a part of each parameter; all of it is put together when it is needed."""

    def __init__(self, model, asked):
        self.model, self.asked = model, asked
        self.parameters = list(model.parameters())

    def gather(self, parameter):
        ranks = dist.get_world_size()
        size = -(-parameter.numel() // ranks)
        flat = torch.zeros(size * ranks)
        flat[:parameter.numel()] = parameter.data.flatten()
        parts = [torch.empty(size) for _ in range(ranks)]
        dist.all_gather(parts, flat[dist.get_rank() * size:(dist.get_rank() + 1) * size].clone())
        parameter.data.copy_(torch.cat(parts)[:parameter.numel()].view_as(parameter))

    def step(self):
        self.model.zero_grad()
        for parameter in self.parameters:
            self.gather(parameter)
        loss = backward(self.model, self.asked)
        for parameter in self.parameters:
            dist.all_reduce(parameter.grad)
            parameter.data -= LEARNING_RATE * parameter.grad / dist.get_world_size()
        return loss


class TensorAndData:
    """Ranks side by side share each layer and add up what comes out of it; the same ranks of all
    hosts share what they learn."""

    def __init__(self, model, asked):
        self.model, self.asked = model, asked
        ranks, wide = dist.get_world_size(), asked.tensor_parallel
        for first in range(0, ranks, wide):
            self.note("tensor", range(first, first + wide))
        for place in range(wide):
            self.note("data", range(place, ranks, wide))
        self.optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    def note(self, name, members):
        group = dist.new_group(list(members))
        if dist.get_rank() in members:
            setattr(self, name, group)

    def step(self):
        self.optimizer.zero_grad()
        for _ in self.model.layers:
            dist.all_reduce(torch.ones(self.asked.batch, self.asked.width), group=self.tensor)
        loss = backward(self.model, self.asked)
        for parameter in self.model.parameters():
            dist.all_reduce(parameter.grad, group=self.data)
        self.optimizer.step()
        return loss


class PipelineAndData:
    """All micro-batches forward, then all of them back. The ranks of a host add up what they learn,
    those of the next host with the same place have the next layers."""

    def __init__(self, model, asked):
        self.model, self.asked = model, asked
        ranks, wide, rank = dist.get_world_size(), asked.tensor_parallel, dist.get_rank()
        for first in range(0, ranks, wide):
            group = dist.new_group(list(range(first, first + wide)))
            if first <= rank < first + wide:
                self.data = group
        self.before = rank - wide if rank >= wide else None
        self.after = rank + wide if rank + wide < ranks else None
        self.optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    def step(self):
        self.optimizer.zero_grad()
        passed = [self.forward() for _ in range(self.asked.micro)]
        for given, made in reversed(passed):
            self.back(given, made)
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad, group=self.data)
        self.optimizer.step()
        return passed[-1][1].detach().mean().item()

    def forward(self):
        given, wanted = ddp.batch_of(self.asked.batch, self.asked.width)
        if self.before is not None:
            dist.recv(given, self.before)
            given.requires_grad_()
        made = self.model.hidden(given)
        if self.after is not None:
            dist.send(made.detach(), self.after)
            return given, made
        return given, nn.functional.mse_loss(self.model.last(made), wanted)

    def back(self, given, made):
        gradient = None
        if self.after is not None:
            gradient = torch.empty_like(made)
            dist.recv(gradient, self.after)
        made.backward(gradient)
        if self.before is not None:
            dist.send(given.grad, self.before)


class Experts(Flat):
    """Each rank has an expert; as many tokens go to each."""

    def step(self):
        ranks = dist.get_world_size()
        tokens = torch.ones(-(-self.asked.batch // ranks) * ranks, self.asked.width)
        for _ in self.model.layers:
            for _ in ("there", "back"):
                moved = torch.empty_like(tokens)
                dist.all_to_all_single(moved, tokens)
        return super().step()


SHAPES = {"accumulate": Accumulate, "fp16": Fp16, "flat": Flat, "zero": Zero, "gather": Gather,
          "tp-dp": TensorAndData, "pp-dp": PipelineAndData, "experts": Experts}


def arguments():
    words = ddp.options(__doc__)
    words.add_argument("--shape", choices=SHAPES, required=True)
    words.add_argument("--micro", type=int, default=4, help="passes a step")
    words.add_argument("--tensor-parallel", type=int, default=2, help="ranks side by side")
    return words.parse_args()


def main():
    asked = arguments()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    is_late = dist.get_rank() == asked.late_rank
    model = ddp.Perceptron(asked.width, asked.depth, asked.late_ms / 1000 if is_late else 0)
    ddp.train(SHAPES[asked.shape](model, asked).step, asked)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
