// chokepoint live: all nodes of a run while it goes on. live_source.cc reads them from their
// records or their metrics, live.cc does so again and again, live_page.cc draws what was read.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/attribution/diagnosis.h"
#include "analysis/live/live_run.h"
#include "analysis/live/metrics.h"
#include "base/cli/context.h"

namespace chokepoint::analysis {

struct LiveView {
  std::string run = {};  // its folder, or how many nodes serve metrics
  std::vector<LiveNode> nodes = {};
  std::optional<Diagnosis> diagnosis = {};  // so far
  std::string no_diagnosis = {};            // why there is none
  std::string next = {};                    // what to type when the run has ended
};

bool has_ended(const LiveView& view);
// "1 of 2 nodes run", or how the run ended: "ended, exit 0".
std::string state_of(const LiveView& view);

// Where the nodes are read from. One thread.
class LiveSource {
 public:
  virtual ~LiveSource() = default;
  // With a diagnosis where there can be one and it is time for it, else with the one before.
  virtual Result<LiveView> read() = 0;
  // How long after the first reading a second one shows more.
  virtual std::chrono::nanoseconds warm_up() const { return {}; }
};

std::unique_ptr<LiveSource> record_source(std::vector<std::string> folders, DiagnoseOptions options,
                                          std::chrono::nanoseconds every, const sys::Clock& clock);
std::unique_ptr<LiveSource> metrics_source(std::vector<Scraper> scrapers);

struct LiveFrame {
  std::size_t columns = 80;
  std::size_t rows = 24;       // 0: as many as it takes, without a line of keys
  std::size_t first_node = 0;  // of those shown, where not all have room
  bool is_paused = false;
};

// Pure. At most `rows` lines of at most `columns` letters. What matters most comes first and stays
// where there is little room: the verdict, the step, the nodes.
std::vector<std::string> draw(const LiveView& view, const LiveFrame& frame,
                              const cli::Terminal& terminal);

}  // namespace chokepoint::analysis
