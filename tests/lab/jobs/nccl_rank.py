#!/usr/bin/env python3
"""usage: nccl_rank.py --program LAB_NCCL --addresses A,B [options], as a rank by RANK and WORLD_SIZE
       nccl_rank.py --grid LAB_NCCL_GRID --addresses A,B [options], likewise

Becomes a rank of the stand-in for a job on NCCL, or of that for a large model; ADDRESSES are the
hosts', which all have as many ranks. Options that it does not know are the stand-in's own.
"""

import argparse
import os

words = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars="@", allow_abbrev=False)
words.add_argument("--program")
words.add_argument("--grid")
words.add_argument("--addresses", required=True, type=lambda text: text.split(","))
words.add_argument("--late-rank", type=int)
words.add_argument("--late-ms", default="0")
words.add_argument("--absent-rank", type=int)
words.add_argument("--absent-step")
asked, others = words.parse_known_args()

if asked.grid:
    late = ["--late-rank", str(asked.late_rank), "--late-ms", asked.late_ms]
    os.execv(asked.grid, [asked.grid, ",".join(asked.addresses), "--tell", "1", *others,
                          *(late if asked.late_rank is not None else [])])

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
own, following = (asked.addresses[of * len(asked.addresses) // ranks]
                  for of in (rank, (rank + 1) % ranks))
late = ["--late-ms", asked.late_ms] if rank == asked.late_rank else []
absent = ["--absent-step", asked.absent_step] if rank == asked.absent_rank else []
# One rank of each host.
tell = ["--tell", "1"] if rank * len(asked.addresses) % ranks == 0 else []
os.execv(asked.program, [asked.program, str(rank), str(ranks), own, following, *tell, *others,
                         *late, *absent])
