"""usage: torch_load.py SECONDS [to-gpu | from-gpu]

Copies to the GPU and back, or one way alone, and multiplies there, by turns of half a second. Prints
how many bytes went each way, and in how many seconds.
"""

import json
import sys
import time

import torch


def main():
    size = 256 << 20
    host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    gpu = torch.empty(size, dtype=torch.uint8, device="cuda")
    square = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    ways = sys.argv[2:] or ["to-gpu", "from-gpu"]
    copies = 0
    began = time.monotonic()
    while time.monotonic() - began < float(sys.argv[1]):
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            if "to-gpu" in ways:
                gpu.copy_(host, non_blocking=True)
            if "from-gpu" in ways:
                host.copy_(gpu, non_blocking=True)
            torch.cuda.synchronize()
            copies += 1
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            torch.mm(square, square)
            torch.cuda.synchronize()
    print(json.dumps({"to_gpu_bytes": copies * size * ("to-gpu" in ways),
                      "from_gpu_bytes": copies * size * ("from-gpu" in ways),
                      "seconds": time.monotonic() - began}))


if __name__ == "__main__":
    main()
