// What `py-spy dump --json` prints: a list with an object for each thread that runs Python, whose
// frames are there the innermost first. Fields of src/stack_trace.rs of py-spy 0.3 and 0.4:
//
//   [{"pid": 7, "thread_id": 139…, "thread_name": "MainThread", "os_thread_id": 7, "active": false,
//     "owns_gil": false, "frames": [{"name": "load_batch", "filename": "/a/train.py",
//     "module": null, "short_filename": "train.py", "line": 41, "locals": null, …}],
//     "process_info": null}]
//
// Its texts are read from the job's memory and may be anything: they are bounded and cleaned here.
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/record/stacks.h"
#include "base/sys/error.h"

namespace chokepoint::capture::stall {

inline constexpr std::size_t kMaxDumpBytes = std::size_t{4} << 20;

// Never stops the process: its threads are read while they stand.
std::vector<std::string> py_spy_command(std::int64_t pid);
Result<std::vector<record::StackThread>> threads_in_dump(std::string_view dump);

// At most that many bytes, without control characters.
std::string cleaned(std::string_view text, std::size_t most_bytes);

}  // namespace chokepoint::capture::stall
