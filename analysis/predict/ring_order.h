// In which order sites of different links form a ring: each passes everything on to the next one,
// so that the slowest path decides. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::analysis {

// What one site sends another one by.
struct SitePath {
  std::string from = {};
  std::string to = {};
  double rate_mbps = 0;
  std::optional<double> rtt_ms = {};
};

// "a,b=200M", "a,b=1G/30ms".
Result<SitePath> parse_site_path(std::string_view text);

struct Ring {
  std::vector<std::size_t> order = {};  // of sites, by number; the last one sends to the first
  double slowest_mbps = 0;
  double rtt_ms = 0;  // the longest round trip; 0: none is known
};

struct RingChoice {
  std::vector<std::string> sites = {};  // as they were first named
  Ring best = {};
  Ring worst = {};
  std::optional<Ring> given = {};  // as named; empty where a path of it is not known
  bool is_exact = true;            // false: there are too many orders to try all
};

constexpr std::size_t kMostSites = 64;

// A path is used in both directions, unless the reverse one is given, too. An Error where no ring
// can be made of them.
Result<RingChoice> choose_ring(const std::vector<SitePath>& paths);

}  // namespace chokepoint::analysis
