// What NCCL itself reports of a job: the files of its Inspector, and the reports of its RAS.
//
// Inspector: a JSON object a line, one collective of one rank each, of which the form
// of NCCL 2.28 has "header" and "metadata" and that of others the same fields beside "coll_perf".
//
//   {"header": {"id": "0x7f…", "rank": 0, "n_ranks": 8, "nnodes": 1},
//    "metadata": {"dump_timestamp_us": …, "hostname": "a", "pid": 7, …},
//    "coll_perf": {"coll": "AllReduce", "coll_sn": 12, "coll_msg_size_bytes": 1048576,
//                  "coll_exec_time_us": 412, …}}
//
// A rank is one in its communicator. The largest communicator of a process is assumed to be the
// job's, and its ranks the job's.
#pragma once

#include <string>
#include <string_view>

#include "analysis/evidence/source.h"
#include "analysis/evidence/tool_file.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

Result<ToolFile> read_inspector(ByteSource& source, const std::string& file);
Result<ToolFile> read_ras(std::string_view text, const std::string& file);

}  // namespace chokepoint::analysis
