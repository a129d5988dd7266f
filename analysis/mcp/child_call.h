// A call of a tool as a child process of this same program: a command that crashes, hangs or
// exhausts memory on a hostile record does not affect the server. The child has no standard input,
// no more of the environment than it needs, and ends with this process. Any thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "analysis/mcp/server.h"
#include "base/history/place.h"

namespace chokepoint::analysis::mcp {

struct ChildCall {
  std::string program = "/proc/self/exe";
  std::string folder = {};  // in which the command runs
  // What `history` and `web` read; no other command gets a history, so that none adds to it.
  std::string history = std::string(history::kNone);
  int interrupt = -1;  // readable once the call has to end
  std::chrono::milliseconds most_time = std::chrono::minutes(2);
  std::size_t most_bytes = std::size_t{16} << 20;

  CallOutcome operator()(const std::vector<std::string>& words) const;
};

}  // namespace chokepoint::analysis::mcp
