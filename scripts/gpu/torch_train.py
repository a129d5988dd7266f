"""usage: torch_train.py [options], as a rank by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT

DistributedDataParallel over NCCL (or Gloo, with the tensors on the GPU) on made-up data. Prints a
line a step, and at the end the median step as JSON. Gradients of a step: 4 · depth · width² bytes.
"""

import argparse
import json
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def arguments():
    words = argparse.ArgumentParser(description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--backend", default="nccl")
    words.add_argument("--width", type=int, default=1024)
    words.add_argument("--depth", type=int, default=4, help="layers of this width")
    words.add_argument("--batch", type=int, default=64)
    words.add_argument("--work", type=int, default=0, help="more products of 4096² a step")
    words.add_argument("--steps", type=int, default=30)
    return words.parse_args()


def main():
    asked = arguments()
    torch.cuda.set_device(0)
    dist.init_process_group(asked.backend)
    torch.manual_seed(dist.get_rank())
    layers = [nn.Linear(asked.width, asked.width, bias=False) for _ in range(asked.depth)]
    model = DistributedDataParallel(nn.Sequential(*layers).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    data = torch.randn(asked.batch, asked.width, device="cuda")
    more = torch.randn(4096, 4096, device="cuda")
    took = []
    for number in range(1, asked.steps + 1):
        began = time.monotonic()
        for _ in range(asked.work):
            torch.mm(more, more)
        optimizer.zero_grad()
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        took.append(time.monotonic() - began)
        print(f"step {number} loss {loss.item():.4f} time {took[-1] * 1000:.1f}ms", flush=True)
    if dist.get_rank() == 0:
        settled = took[min(5, len(took) - 1):]
        print(json.dumps({"median_ms": statistics.median(settled) * 1000, "steps": len(took)}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
