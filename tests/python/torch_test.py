#!/usr/bin/env python3
"""Two ranks of PyTorch's DDP over Gloo that mark their steps, started by hand: torchrun
of PyTorch 1.13 does not run on Python 3.11."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

import chokepoint

PROGRAM = os.environ["CHOKEPOINT_PROGRAM"]
STEPS = 12
TRAIN = f"""
import chokepoint, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(torch.randn({STEPS} * 8, 64)), batch_size=8)
for epoch in range(2):
    for batch in chokepoint.steps(loader, samples=lambda batch: len(batch[0])):
        optimizer.zero_grad()
        model(batch[0]).mean().backward()
        optimizer.step()
        time.sleep(0.05)
    chokepoint.mark("epoch-end", epoch)
dist.barrier()
dist.destroy_process_group()
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Torch(unittest.TestCase):
    def test_both_ranks_have_their_steps(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "train.py")
            script.write_text(TRAIN)
            out = str(pathlib.Path(folder, "run"))
            ranks = "for RANK in 0 1; do export RANK; \"$0\" -W ignore \"$1\" & done; wait"
            subprocess.run([PROGRAM, "run", "--quiet", "--out", out, "--", "sh", "-c", ranks,
                            sys.executable, str(script)], check=True, timeout=200,
                           env={**os.environ, "OMP_NUM_THREADS": "1", "WORLD_SIZE": "2",
                                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()})
            loaded = chokepoint.load(out)
            steps = loaded.steps[loaded.steps["source"] == "marks"]
            for rank in (0, 1):
                of_it = steps[steps["rank"] == rank]
                # The socket may have had no room for some while the watch got no processor.
                self.assertGreater(len(of_it), STEPS)
                self.assertLessEqual(len(of_it), 2 * STEPS)
                self.assertLessEqual(set(of_it["number"]), set(range(2 * STEPS)))
                self.assertEqual(set(of_it["samples"]), {8})
            said = subprocess.run([PROGRAM, "export", out, "--to", "json"], check=True,
                                  stdout=subprocess.PIPE).stdout
            for name, table in json.loads(said)["nodes"][0]["tables"].items():
                if name in ("collectives", "flow_samples", "socket_samples", "flows"):
                    frame = getattr(loaded, name)
                    self.assertLessEqual(set(table["columns"]), set(frame.columns), name)
            loaded.close()


if __name__ == "__main__":
    unittest.main()
