// The flows that matter most, out of all that there are. Every flow is glanced at, and only those
// that are among the first are worked out, so that a million flows can be ranked once a second.
// Works on an analyser's own thread, or after it has ended.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "capture/flow/engine.h"
#include "capture/flow/facts.h"

namespace chokepoint::capture {

enum class SortBy { Rate, Bytes, Retransmissions, Rtt };

std::vector<std::string> sort_names();  // in the order of SortBy
SortBy sort_named(const std::string& name);

using Rates = std::array<double, 2>;  // Mb/s of payload, a to b and b to a

struct RankedFlow {
  flow::FlowFacts facts = {};
  Rates mbps{};
  std::size_t analyser = 0;
  std::uint32_t slot = 0;
  double weight = 0;

  // The direction that carries more.
  std::size_t main_direction() const;
};

struct RankBy {
  SortBy sort = SortBy::Rate;
  std::size_t most = 20;
  std::function<Rates(std::uint32_t slot, const flow::Glance& glance)> rates = {};
};

// Adds an engine's flows to those of other engines; the heaviest first, `by.most` at most.
void rank(const flow::Engine& engine, std::size_t analyser, const RankBy& by,
          std::vector<RankedFlow>& flows);

// Over the flow's whole life.
Rates lifetime_rates(std::uint32_t slot, const flow::Glance& glance);

}  // namespace chokepoint::capture
