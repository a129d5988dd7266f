#!/usr/bin/env python3
"""usage: loading.py [options], as a rank by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT

Training by PyTorch's DDP over Gloo whose samples come from files or from a store, by a DataLoader,
and which saves its weights now and then; beside ddp.py's options. It sleeps in place of a GPU's
computing.
"""

import http.client
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
MEGABYTE = 1_000_000
ENDLESS = 1 << 30


class Samples(Dataset):
    """Of each the first bytes are what is learnt from."""

    def __init__(self, asked):
        self.width, self.decode_s = asked.width, asked.decode_ms / 1000
        is_slow = asked.fetch_rank in (None, dist.get_rank())
        self.fetch_s = asked.fetch_ms / 1000 if is_slow else 0

    def __len__(self):
        return ENDLESS

    def __getitem__(self, place):
        data = self.read(place)
        if self.fetch_s:
            time.sleep(self.fetch_s)
        until = time.process_time() + self.decode_s
        while time.process_time() < until:
            pass
        return torch.frombuffer(bytearray(data[:FLOAT_BYTES * self.width]), dtype=torch.float32)


class Files(Samples):
    def __init__(self, folder, asked):
        super().__init__(asked)
        self.files = sorted(folder.glob("sample-*"))

    def read(self, place):
        return self.files[place % len(self.files)].read_bytes()


class Stored(Samples):
    """Objects of a store, over one connection for each process."""

    def __init__(self, folder, asked):
        super().__init__(asked)
        self.name, self.store, self.connection = folder.name, asked.store, None

    def read(self, place):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.store)
        self.connection.request("GET", f"/{self.name}/sample-{place}")
        return self.connection.getresponse().read()


class InOrder(torch.utils.data.Sampler):
    """Each rank its own files; the usual sampler would draw up a list of all places."""

    def __init__(self):
        """The base class takes another number of arguments in each PyTorch."""

    def __iter__(self):
        return iter(range(ENDLESS))

    def __len__(self):
        return ENDLESS


def batches(folder, asked):
    samples = (Stored if asked.store else Files)(folder, asked)
    # Python 3.14 would start loaders anew, which import PyTorch for longer than the job lasts.
    start = "fork" if asked.workers else None
    return iter(DataLoader(samples, batch_size=asked.batch, sampler=InOrder(),
                           num_workers=asked.workers, multiprocessing_context=start))


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
        if asked.save_every and made % asked.save_every == 0:
            checkpoint(folder / "saved", asked)
        return loss.item()

    return step


def checkpoint(path, asked):
    if dist.get_rank() == 0:
        if asked.save_by_torch:
            torch.save({"weights": torch.zeros(asked.save_mb * MEGABYTE // FLOAT_BYTES)}, path)
        else:
            save(path, asked.save_mb)
    if asked.save_barrier:
        dist.barrier()


def save(path, megabytes):
    with open(path, "wb") as file:
        for _ in range(megabytes):
            file.write(bytes(MEGABYTE))


def options():
    words = ddp.options(__doc__)
    words.add_argument("--data", type=pathlib.Path, required=True,
                       help="a folder that has rank-0, rank-1 …, each with files sample-*")
    words.add_argument("--store", help="HOST:PORT, whose objects are read instead")
    words.add_argument("--fetch-ms", type=float, default=0, help="slept for a sample besides")
    words.add_argument("--fetch-rank", type=int, help="by this rank alone")
    words.add_argument("--workers", type=int, default=0, help="loader processes")
    words.add_argument("--decode-ms", type=float, default=0, help="of a processor, a sample")
    words.add_argument("--compute-ms", type=float, default=50, help="of a step, slept")
    words.add_argument("--save-every", type=int, default=0, help="steps; by rank 0")
    words.add_argument("--save-mb", type=int, default=20)
    words.add_argument("--save-by-torch", action="store_true", help="by torch.save")
    words.add_argument("--save-barrier", action="store_true", help="all wait until then")
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
