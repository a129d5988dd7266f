"""The jobs that are watched: what a rank is started with."""

import os
import pathlib
import subprocess

from lab import Skipped

TREE = pathlib.Path(__file__).resolve().parents[3]
PORT = 29500
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def trainer(folder, addresses, steps):
    """Exchanges 8 MB a step, which fills a link of 1 Gb/s for 64 ms, and sleeps in place of
    computing: what watching takes of the processors is not taken from the job's own."""
    program = TREE / "build/release/scripts/train/trainer/lab_trainer"
    if not os.access(program, os.X_OK):
        raise Skipped("needs the trainer: libgloo-dev, and ninja -C build/release lab_trainer")
    return [program, "--meet", folder, "--pattern", "dp", "--bytes", 8_000_000, "--pieces", 4,
            "--compute-ms", 60, "--steps", steps], {}


def by_torch(addresses, *options):
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import torch.distributed"], check=False,
                          capture_output=True).returncode == 0:
            return [python, "-B", TREE / "scripts/train/ddp.py", *options], \
                {"MASTER_ADDR": addresses[0], "MASTER_PORT": str(PORT)}
    raise Skipped("needs python3-torch")


def ddp(folder, addresses, steps):
    """PyTorch's own, 8 MB of gradients, computing on the processors that watching shares."""
    return by_torch(addresses, "--width", 1024, "--depth", 2, "--batch", 32, "--steps", steps)


def compute(folder, addresses, steps):
    """PyTorch's own with 0.2 MB of gradients: the ranks fill a processor each all the time, so on a
    machine of two whatever watching takes is taken from the job."""
    return by_torch(addresses, "--width", 224, "--depth", 1, "--batch", 8192, "--steps", steps)


def nccl(folder, addresses, steps):
    """What calls the plugin as NCCL would, around transfers of its own: 40 collectives of 200 KB a
    step, with kernels and the network's steps told all the time."""
    program = TREE / "build/release/tests/lab/nccl/lab_nccl"
    if not os.access(program, os.X_OK):
        raise Skipped("needs the stand-in for NCCL: ninja -C build/release lab_nccl")
    start = f'set -- {" ".join(addresses)} {addresses[0]}; shift "$RANK"; ' \
        f'exec {program} "$RANK" "$WORLD_SIZE" "$1" "$2" --tell 1 --steps {steps} ' \
        '--buckets 40 --bytes 200000 --compute-ms 60'
    return ["sh", "-c", start], {"CHOKEPOINT_NCCL_WINDOW": "all"}


JOBS = {"trainer": trainer, "ddp": ddp, "compute": compute, "nccl": nccl}
