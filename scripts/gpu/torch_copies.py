"""usage: torch_copies.py [MIB [SAMPLES]]

nvbandwidth's method in PyTorch: pinned memory, 4 warm-ups, CUDA's events around copies that follow
each other, the median of several. Prints a JSON object: 10^6 bit/s a direction, and of both ways at
once their sum.
"""

import json
import statistics
import sys

import torch

COPIES = 16
WARM_UPS = 4


def elapsed_s(enqueue):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    enqueue()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1000


def mbps(enqueue, size, samples):
    for _ in range(WARM_UPS):
        enqueue(1)
    return statistics.median(size * COPIES * 8 / 1e6 / elapsed_s(lambda: enqueue(COPIES))
                             for _ in range(samples))


def main():
    mib, samples = (int(word) for word in (sys.argv[1:] + ["512", "5"][len(sys.argv) - 1:]))
    size = mib << 20
    host = [torch.empty(size, dtype=torch.uint8, pin_memory=True).fill_(7) for _ in range(2)]
    gpu = [torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2)]
    other = torch.cuda.Stream()

    def to_device(count):
        for _ in range(count):
            gpu[0].copy_(host[0], non_blocking=True)

    def to_host(count):
        for _ in range(count):
            host[1].copy_(gpu[1], non_blocking=True)

    def both(count):
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            to_host(count)
        to_device(count)
        torch.cuda.current_stream().wait_stream(other)

    print(json.dumps({"host_to_device_mbps": mbps(to_device, size, samples),
                      "device_to_host_mbps": mbps(to_host, size, samples),
                      "both_ways_mbps": 2 * mbps(both, size, samples),
                      "same": bool((gpu[0] == 7).all().item()),
                      "bytes": size}))


if __name__ == "__main__":
    main()
