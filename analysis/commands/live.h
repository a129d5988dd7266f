// chokepoint live: all nodes of a run while it goes on. live.cc reads them again and again, from
// their records or their metrics; live_page.cc draws what was read. Values and a pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/diagnosis.h"
#include "analysis/live/live_run.h"
#include "base/cli/context.h"

namespace chokepoint::analysis {

struct LiveView {
  std::string run = {};  // its folder, or how many nodes serve metrics
  std::vector<LiveNode> nodes = {};
  std::optional<Diagnosis> diagnosis = {};  // so far
  std::string no_diagnosis = {};            // why there is none
};

struct LiveFrame {
  std::size_t columns = 80;
  std::size_t rows = 24;       // 0: as many as it takes, without a line of keys
  std::size_t first_node = 0;  // of those shown, where not all have room
  bool is_paused = false;
};

// At most `rows` lines of at most `columns` letters. What matters most comes first and stays where
// there is little room: the verdict, the step, the nodes.
std::vector<std::string> draw(const LiveView& view, const LiveFrame& frame,
                              const cli::Terminal& terminal);

}  // namespace chokepoint::analysis
