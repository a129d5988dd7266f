#!/usr/bin/env python3
"""usage: torchrun.py, with torchrun's own words

Debian's torchrun as it is, but for what Python 3.11 changed under it: the members of its enum of
outputs no longer tell `0`.
"""

from torch.distributed import run
from torch.distributed.elastic.multiprocessing import api

if __name__ == "__main__":
    api.Std.from_str = staticmethod(lambda text: api.Std(int(text)))
    run.main()
