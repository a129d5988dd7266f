// Dumps of PyTorch's Flight Recorder, one of each rank: as it writes them, a pickle, or as JSON
// (torch.distributed's _dump_nccl_trace_json, or the debug server's page).
//
//   {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
//    "pg_status": {"0": {"last_enqueued_collective": 2, "last_completed_collective": 2, …}},
//    "entries": [{"pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": 1,
//                 "profiling_name": "nccl:all_reduce", "state": "completed", "is_p2p": false,
//                 "time_created_ns": …, "duration_ms": …, "input_sizes": [[3, 4]], …}, …]}
//
// A dump does not hold its rank: its file's name does, as the number at its end.
//
// Gloo (as of PyTorch 2.14): "retired" marks a call that is over, its "state" stays "scheduled";
// only one of the groups is configured, without a name; and a status counts messages, too, which
// are no entries, so that its number is not a collective's.
#pragma once

#include <string>
#include <string_view>

#include "analysis/evidence/tool_file.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

Result<ToolFile> read_flight_recorder(std::string_view bytes, const std::string& file);

}  // namespace chokepoint::analysis
