// Whether a host could do what the job asked of it: threads of the job that waited for a processor,
// a thread or a core that was never idle.
#pragma once

#include <string>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

struct HostLoad {
  bool is_starved = false;    // the job's threads were ready and got no processor
  double waited_percent = 0;  // of the time, the thread that waited most
  std::string waiting_thread = {};
  double busiest_percent = 0;  // of one core, the busiest thread that moves data
  std::string busiest_thread = {};
  double softirq_percent = 0;  // of the core that receives most
  std::string softirq_core = {};

  bool is_at_limit() const;
  const char* cause() const;  // "softirq", "process-cpu"
};

HostLoad load_of(const NodeData& node, Span span);

}  // namespace chokepoint::analysis
