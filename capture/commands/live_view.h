// The table of flows on a terminal while a capture goes on, redrawn in place and gone at the end.
// Rates are those since the last refresh. On standard error, so that results can go elsewhere. The
// command's thread; flows are looked at between two batches of their analyser.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "capture/commands/screen.h"
#include "capture/commands/watch.h"
#include "capture/observer/observer.h"

namespace chokepoint::capture {

class LiveView {
 public:
  // Shows nothing where no person sits there. Both outlive the view.
  LiveView(const cli::Context& context, const WatchOptions& options);

  void refresh(observer::Observer& observer);

 private:
  // What a flow had carried at the last refresh.
  struct Past {
    std::int64_t start_ns = 0;
    std::array<std::uint64_t, 2> payload_bytes{};
  };

  std::vector<RankedFlow> busiest(observer::Observer& observer, double seconds);
  Rates rates_since_then(std::vector<Past>& pasts, std::uint32_t slot, const flow::Glance& glance,
                         double seconds) const;
  std::string headline(const observer::Progress& progress, double seconds) const;
  std::vector<std::string> page(const std::vector<RankedFlow>& flows,
                                const std::string& headline) const;

  const cli::Context& context_;
  const WatchOptions& options_;
  Screen screen_;
  std::int64_t started_ns_;
  std::int64_t drawn_ns_;
  observer::Progress past_progress_;
  std::vector<std::vector<Past>> pasts_;  // by analyser and slot
  std::vector<RankedFlow> shown_;
};

}  // namespace chokepoint::capture
