#!/usr/bin/env python3
"""usage: many_dumps.py FOLDER [--ranks N] [--entries N]

Writes dumps of the form of PyTorch's Flight Recorder, a pickle for each rank, of a job in which one
rank, 77 or the last, has not come to the last all_reduce. To see how long many of them take:

    many_dumps.py dumps && /usr/bin/time -v chokepoint diagnose --with dumps
"""

import argparse
import pathlib
import pickle

FRAMES = [{"name": f"call_{depth}", "filename": f"/job/layer_{depth}.py", "line": 10 + depth}
          for depth in range(12)]
GROUPS = (("0", "default_pg"), ("1", "DATA_PARALLEL_GROUP"), ("2", "TENSOR_MODEL_PARALLEL_GROUP"),
          ("3", "PIPELINE_MODEL_PARALLEL_GROUP"))


def entry(number, is_over):
    group = number % len(GROUPS)
    at = 1_795_000_000_000_000_000 + 1_000_000 * number
    return {"frames": FRAMES, "record_id": number, "pg_id": group, "process_group": GROUPS[group],
            "thread_name": "pt_autograd_0", "thread_id": "140000000000000",
            "collective_seq_id": number // len(GROUPS), "p2p_seq_id": 0, "op_id": number,
            "profiling_name": "nccl:all_reduce", "time_created_ns": at, "duration_ms": 1.25,
            "input_sizes": [[4096, 5120]], "input_dtypes": ["BFloat16"],
            "output_sizes": [[4096, 5120]], "output_dtypes": ["BFloat16"],
            "state": "completed" if is_over else "scheduled",
            "time_discovered_started_ns": at + 10 if is_over else None,
            "time_discovered_completed_ns": at + 20 if is_over else None,
            "retired": is_over, "timeout_ms": 600000, "is_p2p": False}


def dump(ranks, entries, is_missing):
    # Of the last group's last call alone.
    rows = [entry(number, number != entries - 1) for number in range(entries)]
    if is_missing:
        rows.pop()
    members = str(list(range(ranks)))
    config = {name: {"name": name, "desc": label, "ranks": members} for name, label in GROUPS}
    return pickle.dumps({"version": "2.9", "pg_config": config, "pg_status": {}, "entries": rows},
                        protocol=2)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("folder", type=pathlib.Path)
    words.add_argument("--ranks", type=int, default=1000)
    words.add_argument("--entries", type=int, default=20000)
    words = words.parse_args()
    words.folder.mkdir(parents=True)
    waits, missing = (dump(words.ranks, words.entries, is_missing) for is_missing in (False, True))
    absent = min(77, words.ranks - 1)
    for rank in range(words.ranks):
        (words.folder / f"nccl_trace_rank_{rank}").write_bytes(missing if rank == absent else waits)


main()
