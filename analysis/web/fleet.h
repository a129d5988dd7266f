// All hosts of a history beside each other, with what is unusual. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/web/documents.h"
#include "base/history/store.h"
#include "base/trends/lately.h"
#include "base/trends/unusual_hosts.h"

namespace chokepoint::analysis::web {

inline constexpr std::size_t kMaxColumns = 16;
inline constexpr std::size_t kMaxFleetRows = 1000;
inline constexpr std::size_t kMaxFleetFindings = 100;

struct FleetInput {
  std::span<const history::MeasuredSeries> series = {};
  std::span<const trends::HistoryFinding> findings = {};
  std::span<const trends::UnusualHost> hosts = {};
  std::int64_t since_ns = 0;
  std::int64_t now_ns = 0;
};

// Without the history's name. Hosts first, then what is on no single host: jobs. A path counts for
// the host that sends.
Fleet fleet_of(const FleetInput& input);

}  // namespace chokepoint::analysis::web
