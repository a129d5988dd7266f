#!/usr/bin/env python3
"""usage: loading.py [options], as a rank by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT

Training by PyTorch's DDP over Gloo whose samples come from files, by a DataLoader, and which saves
its weights now and then; beside ddp.py's options. It sleeps in place of a GPU's computing.
"""

import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts/train"))

import ddp  # noqa: E402

FLOAT_BYTES = 4
ENDLESS = 1 << 30


class Files(Dataset):
    """Each sample is a file, of which the first bytes are what is learnt from."""

    def __init__(self, folder, width, decode_ms):
        self.files = sorted(folder.glob("sample-*"))
        self.width, self.decode_s = width, decode_ms / 1000

    def __len__(self):
        return ENDLESS

    def __getitem__(self, place):
        data = self.files[place % len(self.files)].read_bytes()
        until = time.process_time() + self.decode_s
        while time.process_time() < until:
            pass
        return torch.frombuffer(bytearray(data[:FLOAT_BYTES * self.width]), dtype=torch.float32)


class InOrder(torch.utils.data.Sampler):
    """Each rank its own files; the usual sampler would draw up a list of all places."""

    def __init__(self):
        super().__init__(None)

    def __iter__(self):
        return iter(range(ENDLESS))

    def __len__(self):
        return ENDLESS


def batches(folder, asked):
    loader = DataLoader(Files(folder, asked.width, asked.decode_ms), batch_size=asked.batch,
                        sampler=InOrder(), num_workers=asked.workers)
    return iter(loader)


def stepping(model, folder, asked):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    source = batches(folder, asked)
    made = 0

    def step():
        nonlocal made
        data = next(source)
        optimizer.zero_grad()
        time.sleep(asked.compute_ms / 1000)
        loss = nn.functional.mse_loss(model(data), data.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        made += 1
        if asked.save_every and made % asked.save_every == 0 and dist.get_rank() == 0:
            save(folder / "saved", asked.save_mb)
        return loss.item()

    return step


def save(path, megabytes):
    with open(path, "wb") as file:
        for _ in range(megabytes):
            file.write(bytes(1_000_000))


def options():
    words = ddp.options(__doc__)
    words.add_argument("--data", type=pathlib.Path, required=True,
                       help="a folder that has rank-0, rank-1 …, each with files sample-*")
    words.add_argument("--workers", type=int, default=0, help="loader processes")
    words.add_argument("--decode-ms", type=float, default=0, help="of a processor, a sample")
    words.add_argument("--compute-ms", type=float, default=50, help="of a step, slept")
    words.add_argument("--save-every", type=int, default=0, help="steps; by rank 0")
    words.add_argument("--save-mb", type=int, default=20)
    return words


def main():
    asked = options().parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    model = DistributedDataParallel(ddp.Perceptron(asked.width, asked.depth, 0),
                                    bucket_cap_mb=asked.bucket_mb)
    ddp.train(stepping(model, asked.data / f"rank-{dist.get_rank()}", asked), asked)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
