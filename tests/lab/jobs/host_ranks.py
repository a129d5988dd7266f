#!/usr/bin/env python3
"""usage: host_ranks.py FIRST[+STEP] COUNT WORLD COMMAND…

Starts the ranks of one host, FIRST and those after it or every STEP-th, as torchrun does, and ends
when they have ended, by 1 if any failed.
"""

import os
import subprocess
import sys


def main(first, count, world, *command):
    first, _, step = first.partition("+")
    rank_of = [int(first) + local * int(step or 1) for local in range(int(count))]
    ranks = [subprocess.Popen(command, env={**os.environ, "RANK": str(rank_of[local]),
                                            "LOCAL_RANK": str(local), "WORLD_SIZE": world})
             for local in range(int(count))]
    return 1 if any([rank.wait() for rank in ranks]) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
