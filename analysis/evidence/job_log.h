// What a job and its libraries printed: the lines by which PyTorch, Gloo, NCCL, torchrun, CUDA,
// the kernel and Slurm report a failure, at any place in other text.
//
//   [rank1]:[E708 12:34:56.789 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective
//   operation
//     timeout: WorkNCCL(SeqNum=101, OpType=ALLREDUCE, NumelIn=1, …, Timeout(ms)=600000) ran for …
//   [rank1]:[E708 … ] [PG ID 0 PG GUID 0(default_pg) Rank 1] … PG status: last enqueued work: 101,
//   last
//     completed work: 100
//   [rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. …
//
// A line's rank is before it ("[rank1]:", "[default1]:", "[Rank 1]", or "1: " as srun -l prints
// it), else in the file's name. A failure that follows from another's ("Connection closed by
// peer") is distinguished from one that may be the first.
#pragma once

#include <string>

#include "analysis/evidence/source.h"
#include "analysis/evidence/tool_file.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// An Error where no line tells of a failure, or of NCCL's connections (nccl_log.h).
Result<ToolFile> read_job_log(ByteSource& source, const std::string& file);

}  // namespace chokepoint::analysis
