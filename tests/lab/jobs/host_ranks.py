#!/usr/bin/env python3
"""usage: host_ranks.py FIRST COUNT WORLD COMMAND…

Starts the ranks of one host, FIRST and those after it, as torchrun does, and ends when they have
ended, by 1 if any failed.
"""

import os
import subprocess
import sys


def main(first, count, world, *command):
    ranks = [subprocess.Popen(command, env={**os.environ, "RANK": str(int(first) + local),
                                            "LOCAL_RANK": str(local), "WORLD_SIZE": world})
             for local in range(int(count))]
    return 1 if any([rank.wait() for rank in ranks]) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
