#!/usr/bin/env python3
"""usage: shapes.py --shape SHAPE [options], as a rank by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT

Training by PyTorch over Gloo whose communication is not DDP's usual one, beside ddp.py's options:

  accumulate   DDP that exchanges in the last of --micro backward passes only
  fp16         DDP whose gradients travel as 16 bits
  flat         one all-reduce of all gradients, when the backward pass is over
  zero         each gradient is reduced to its owner, each parameter broadcast by it
  gather       parameters are gathered from shards before the passes, gradients reduced after
  fsdp         as FSDP2: a layer's parameters are gathered for its forward pass and again for its
               backward pass (the next layer's beside it with --prefetch), its gradients reduced
  local-sgd    no communication, but that all parameters are averaged in every --every-th step
  tp-dp        tensor parallel between the ranks of a host, data parallel between hosts
  pp-dp        a host is a stage of a pipeline, its ranks are data parallel
  gpipe        a rank is a stage of a pipeline, and goes on computing while it sends
  experts      tokens go to their experts on all ranks and back (all-to-all), between the layers

With --compute-ms ranks sleep besides, in place of a GPU's computing.
"""

import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts/train"))

import ddp  # noqa: E402
import pushing  # noqa: E402

LEARNING_RATE = 1e-3
FORWARD = 1 / 3  # of a pass, the rest is backward


class Computing(torch.autograd.Function):
    """Sleeps as a GPU's layer computes, which changes nothing."""

    @staticmethod
    def forward(ctx, value, seconds):
        ctx.seconds = seconds
        time.sleep(seconds * FORWARD)
        return value.view_as(value)

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(ctx.seconds * (1 - FORWARD))
        return gradient, None


class Layer(nn.Linear):
    def __init__(self, width, compute_s):
        super().__init__(width, width)
        self.compute_s = compute_s

    def forward(self, value):
        made = super().forward(value)
        return Computing.apply(made, self.compute_s) if self.compute_s else made


class Model(ddp.Perceptron):
    """`compute_s`: of a pass."""

    def __init__(self, asked, compute_s, late_s):
        super().__init__(asked.width, asked.depth, late_s)
        self.layers = nn.ModuleList(Layer(asked.width, compute_s / asked.depth)
                                    for _ in range(asked.depth))


def backward(model, asked):
    data, wanted = ddp.batch_of(asked.batch, asked.width)
    loss = nn.functional.mse_loss(model(data), wanted)
    loss.backward()
    return loss.item()


def joined(tensors):
    return torch.cat([each.flatten() for each in tensors])


def copy_parts(flat, tensors):
    """What joined() put together."""
    for each, part in zip(tensors, flat.split([each.numel() for each in tensors])):
        each.copy_(part.view_as(each))


def average(tensors):
    """Of all ranks, by one all-reduce."""
    flat = joined(tensors)
    dist.all_reduce(flat)
    copy_parts(flat / dist.get_world_size(), tensors)


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
        average([each.grad for each in self.model.parameters()])
        self.optimizer.step()
        return loss


class LocalSgd:
    def __init__(self, model, asked):
        self.model, self.asked, self.made = model, asked, 0
        self.optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)

    def step(self):
        self.optimizer.zero_grad()
        loss = backward(self.model, self.asked)
        self.optimizer.step()
        self.made += 1
        if self.made % self.asked.every == 0:
            average([each.data for each in self.model.parameters()])
        return loss


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


class Sharded:
    """A layer's parameters, of which each rank keeps a part, and all when they are needed."""

    def __init__(self, layer):
        self.parameters = list(layer.parameters())
        self.count = sum(each.numel() for each in self.parameters)
        self.size = -(-self.count // dist.get_world_size())
        self.own = nn.Parameter(self.part_of(joined(each.data for each in self.parameters)))

    def padded(self, flat):
        return nn.functional.pad(flat, (0, self.size * dist.get_world_size() - self.count))

    def part_of(self, flat):
        return self.padded(flat).split(self.size)[dist.get_rank()].clone()

    def gather(self):
        self.parts = [torch.empty(self.size) for _ in range(dist.get_world_size())]
        self.gathering = dist.all_gather(self.parts, self.own.data, async_op=True)

    def wait(self):
        self.gathering.wait()
        copy_parts(torch.cat(self.parts)[:self.count], [each.data for each in self.parameters])

    def reduce(self):
        """PyTorch's reduce-scatter over Gloo is an all-reduce, too."""
        self.gradient = joined(each.grad for each in self.parameters)
        self.reducing = dist.all_reduce(self.gradient, async_op=True)

    def wait_for_gradient(self):
        self.reducing.wait()
        self.own.grad = self.part_of(self.gradient) / dist.get_world_size()


class Fsdp:
    def __init__(self, model, asked):
        self.model, self.asked = model, asked
        self.layers = [Sharded(layer) for layer in model.layers]
        self.last = Sharded(model.last)
        self.optimizer = torch.optim.Adam([each.own for each in [*self.layers, self.last]],
                                          lr=LEARNING_RATE)

    def step(self):
        self.model.zero_grad()
        value, wanted = ddp.batch_of(self.asked.batch, self.asked.width)
        self.last.gather()
        self.last.wait()
        passed = []
        for place in self.gathered(range(len(self.layers))):
            given = value.detach().requires_grad_()
            value = torch.relu(self.model.layers[place](given))
            passed.append((given, value))
        loss, gradient = self.end(value, wanted)
        for place in self.gathered(reversed(range(len(self.layers)))):
            given, made = passed[place]
            made.backward(gradient)
            self.layers[place].reduce()
            gradient = given.grad
        for each in [self.last, *self.layers]:
            each.wait_for_gradient()
        self.optimizer.step()
        return loss

    def gathered(self, places):
        """Each of the places, once its layer has its parameters."""
        places, begun = list(places), 0
        for number, place in enumerate(places):
            for each in places[begun:number + 1 + self.asked.prefetch]:
                self.layers[each].gather()
                begun += 1
            self.layers[place].wait()
            yield place

    def end(self, value, wanted):
        """The loss, and its gradient for the layers."""
        given = value.detach().requires_grad_()
        value = ddp.Late.apply(given, self.model.late_s) if self.model.late_s else given
        loss = nn.functional.mse_loss(self.model.last(value), wanted)
        loss.backward()
        self.last.reduce()
        return loss.item(), given.grad


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
        ranks, wide, rank = dist.get_world_size(), self.ranks_of_a_stage(), dist.get_rank()
        for first in range(0, ranks, wide):
            group = dist.new_group(list(range(first, first + wide)))
            if first <= rank < first + wide:
                self.data = group
        self.before = rank - wide if rank >= wide else None
        self.after = rank + wide if rank + wide < ranks else None
        self.optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    def ranks_of_a_stage(self):
        return self.asked.tensor_parallel

    def step(self):
        self.optimizer.zero_grad()
        passed = [self.forward() for _ in range(self.asked.micro)]
        self.wait_for_sending()
        for given, made in reversed(passed):
            self.back(given, made)
        self.wait_for_sending()
        self.add_up()
        self.optimizer.step()
        return passed[-1][1].detach().mean().item()

    def add_up(self):
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad, group=self.data)

    def forward(self):
        given, wanted = ddp.batch_of(self.asked.batch, self.asked.width)
        if self.before is not None:
            dist.recv(given, self.before)
            given.requires_grad_()
        made = self.model.hidden(given)
        if self.after is not None:
            self.send(made.detach(), self.after)
            return given, made
        return given, nn.functional.mse_loss(self.model.last(made), wanted)

    def back(self, given, made):
        gradient = None
        if self.after is not None:
            gradient = torch.empty_like(made)
            dist.recv(gradient, self.after)
        made.backward(gradient)
        if self.before is not None:
            self.send(given.grad, self.before)

    def send(self, tensor, rank):
        dist.send(tensor, rank)

    def wait_for_sending(self):
        pass


class GPipe(PipelineAndData):
    def __init__(self, model, asked):
        super().__init__(model, asked)
        self.sending = []

    def ranks_of_a_stage(self):
        return 1

    def add_up(self):
        """A stage's only rank has it all."""

    def send(self, tensor, rank):
        self.sending.append((dist.isend(tensor, rank), tensor))

    def wait_for_sending(self):
        for work, _ in self.sending:
            work.wait()
        self.sending = []


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
          "fsdp": Fsdp, "local-sgd": LocalSgd, "tp-dp": TensorAndData, "pp-dp": PipelineAndData,
          "gpipe": GPipe, "experts": Experts}
IN_PASSES = ("accumulate", "pp-dp", "gpipe")  # --micro of them are a step


def arguments():
    words = ddp.options(__doc__)
    words.add_argument("--shape", choices=SHAPES, required=True)
    words.add_argument("--micro", type=int, default=4, help="passes a step")
    words.add_argument("--tensor-parallel", type=int, default=2, help="ranks side by side")
    words.add_argument("--every", type=int, default=4, help="local-sgd: steps to each average")
    words.add_argument("--prefetch", action="store_true", help="fsdp: a layer ahead")
    words.add_argument("--compute-ms", type=float, default=0, help="of a step, slept")
    words.add_argument("--push-mb", type=float, default=0,
                       help="that rank 0 sends the last rank besides, over HTTP")
    words.add_argument("--push-every", type=int, default=0,
                       help="steps, each of which waits for it; 0: again and again, beside all steps")
    return words.parse_args()


def main():
    asked = arguments()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    push = pushing.pusher(asked.push_mb) if asked.push_mb > 0 else None
    passes = asked.micro if asked.shape in IN_PASSES else 1
    is_late = dist.get_rank() == asked.late_rank
    model = Model(asked, asked.compute_ms / 1000 / passes, asked.late_ms / 1000 if is_late else 0)
    step = pushing.with_pushes(SHAPES[asked.shape](model, asked).step, push, asked.push_every)
    ddp.train(step, asked,
              asked.every if asked.shape == "local-sgd" else 1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
