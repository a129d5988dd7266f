"""Every check, in the order in which they run: cheap ones first, so that a machine that is taken
away early has told something."""

import dataclasses
import typing

import collectives
import copies
import counters
import machine
import remote_memory
import training


@dataclasses.dataclass(frozen=True)
class Check:
    name: str
    run: typing.Callable
    limit_s: float
    tells: str
    least_s: float = 10  # with less left it is not begun


ALL = [
    Check("machine.facts", machine.facts, 60, "GPU, driver, CUDA, PyTorch, NCCL, kernel"),
    Check("pcie.copies", copies.copies, 170,
          "probe pcie within 3 % of nvbandwidth's method in PyTorch, by turns", 40),
    Check("pcie.link", copies.link, 60, "probe pcie's link under load is what the driver says"),
    Check("counters.load", counters.load, 60, "a GPU's counters in the record of a run", 25),
    Check("counters.pcie", counters.pcie_bytes, 60, "PCIe bytes add up to what was copied", 30),
    Check("counters.throttling", counters.throttling, 40, "what slows the GPU down has a name"),
    Check("counters.nvlink", counters.nvlink, 40, "NVLinks and their errors"),
    Check("nccl.loopback", collectives.loopback, 90,
          "probe collective over NCCL, 2 to 4 ranks on one GPU, data checked", 20),
    Check("nccl.veth-1g", collectives.veth_1g, 40,
          "the same between namespaces, within 3 % of what 1 Gb/s carries", 20),
    Check("nccl.veth-10g", collectives.veth_10g, 40, "the same at 10 Gb/s, half of it at least", 20),
    Check("train.lan-bandwidth", training.lan_bandwidth, 80,
          "DDP on NCCL over a link of 1 Gb/s is told to be lan-bandwidth", 40),
    Check("train.compute", training.compute, 60, "and without a limit to be compute", 30),
    Check("train.record", training.record, 60,
          "steps, NCCL's collectives and kernel times in its record", 10),
    Check("train.gloo-copies", training.gloo_copies, 60,
          "DDP on Gloo with CUDA tensors: copies and network in accounts of their own", 30),
    Check("train.overhead", training.overhead, 200,
          "watching costs 0.5 % of a step at most, by pairs", 60),
    Check("rdma.gpu-memory", remote_memory.gpu_memory, 40, "RDMA into the GPU's memory"),
]
