// The flows that matter most, as a table, live and at the end, and their anomalies in words. The
// table fits the terminal: on a narrow one it drops columns and the front of addresses. Pure
// functions.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/table.h"
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

// Adds an engine's flows to those of other engines; the heaviest first, `by.most` at most. Facts
// are computed of the first ones only, so that a million flows can be ranked once a second. Called
// on the analyser's own thread, or after it has ended.
void rank(const flow::Engine& engine, std::size_t analyser, const RankBy& by,
          std::vector<RankedFlow>& flows);

// Means over the flow's whole life.
Rates lifetime_rates(std::uint32_t slot, const flow::Glance& glance);

std::string bytes_text(std::uint64_t bytes);  // 1.50 GB

cli::Table flow_table(const std::vector<RankedFlow>& flows, const cli::Terminal& terminal);

// "10.0.0.1:40112 > 10.0.0.2:5201: -> resent 0.8 % (fast); …", wrapped, with
// continuation lines indented.
std::vector<std::string> anomaly_lines(const std::vector<RankedFlow>& flows,
                                       const cli::Terminal& terminal);

// "10.0.0.1:40112 > 10.0.0.2:5201"; each end at most `most` letters wide, cut at its front.
std::string ends_text(const flow::FlowFacts& facts, std::size_t most);

// "-> resent 0.8 % (fast), window full 40 % of the busy time": one text per
// direction, and one about both; empty if nothing is anomalous.
std::vector<std::string> anomalies_of(const flow::FlowFacts& facts);

}  // namespace chokepoint::capture
