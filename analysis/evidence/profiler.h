// Traces of PyTorch's profiler (Kineto) and others of Chrome's form, of one rank each and up to
// gigabytes: read event by event, of which only spans of steps, kernels, copies and collectives are
// stored, and of those no more than kMaxSpans.
//
//   {"distributedInfo": {"rank": 0, …}, "baseTimeNanoseconds": 1759…, "traceEvents": [
//     {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_…", "ts": 12.5, "dur": 80.1,
//      "args": {"Collective name": "allreduce", "Process Group Name": "0", …}}, …]}
//
// `ts` and `dur` are microseconds; `ts` counts from baseTimeNanoseconds, or from 1970 without it.
// A step is an annotation "ProfilerStep#N", on the GPU's track where there is one. A collective is
// the same at all ranks by its step, its group, its kernel's name and its place among these.
#pragma once

#include <string>

#include "analysis/evidence/source.h"
#include "analysis/evidence/tool_file.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

Result<ToolFile> read_profiler(ByteSource& source, const std::string& file);

}  // namespace chokepoint::analysis
