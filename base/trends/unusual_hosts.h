// Which host differs from those that have the same hardware, by what was measured of each lately?
// A host is measured by its own figures and by the medians of the paths from it and to it. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/documents/main_figures.h"
#include "base/history/store.h"

namespace chokepoint::trends {

inline constexpr const char* kPathsFromIt = "paths from it";
inline constexpr const char* kPathsToIt = "paths to it";

struct UnusualHost {
  std::string host = {};
  std::string what = {};  // kPathsFromIt, kPathsToIt; a device or folder; empty: the host itself
  std::string metric = {};
  std::string setting = {};
  std::string unit = {};
  double value = 0;
  double others = 0;                    // the median of the other hosts
  std::size_t peers = 0;                // how many these are
  std::optional<double> relative = {};  // value / others - 1; nothing where that is 0
  double p = 1;
  bool is_worse = true;  // also where neither more nor less is better
};

// Worse ones first, then by how much they differ. A measurement older than a week, or of a time
// after `now_ns`, does not count.
std::vector<UnusualHost> unusual_hosts(std::span<const history::MeasuredSeries> all,
                                       std::span<const history::StateSpan> states,
                                       std::int64_t now_ns);

// "gpu3, paths from it: throughput 71.0 Mb/s, 94.0 Mb/s on 7 hosts alike (-24 %); p 0.0002"
std::string sentence_of(const UnusualHost& host);

}  // namespace chokepoint::trends
