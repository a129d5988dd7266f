// Puts samples as they are read to the connection or series that they are of; those of none are
// dropped. Borrows the node, whose flows and series stay where they are. The reader's thread.
#pragma once

#include <array>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

class SampleKeeper {
 public:
  explicit SampleKeeper(NodeData& node) {
    for (FlowData& flow : node.flows) {
      flows_.emplace(flow.row.id, &flow);
    }
    for (SeriesData& series : node.series) {
      series_.emplace(series.row.id, &series);
    }
  }

  void keep(const record::CounterSample& row) { keep_reading(row, row.peak_per_s, 0); }
  void keep(const record::GaugeSample& row) { keep_reading(row, row.peak, row.value); }

  // On the side that the connection has it on: its ends may have been turned.
  template <class Row>
  void keep(const Row& row, std::array<std::vector<Row>, 2> FlowData::* where) {
    const auto flow = flows_.find(row.flow);
    const auto told = static_cast<std::size_t>(row.direction);
    if (flow == flows_.end() || told > 1) {
      return;
    }
    const std::size_t side = flow->second->is_turned ? 1 - told : told;
    std::vector<Row>& rows = (flow->second->*where).at(side);
    rows.push_back(row);
    rows.back().direction = record::Direction(side);
  }

 private:
  template <class Row>
  void keep_reading(const Row& row, double peak, double otherwise) {
    const auto series = series_.find(row.series);
    if (series != series_.end() && !std::isnan(row.value)) {
      series->second->readings.push_back({.t_ns = row.t_ns,
                                          .bin_ns = row.bin_ns,
                                          .value = row.value,
                                          .peak = std::isnan(peak) ? otherwise : peak});
    }
  }

  std::unordered_map<std::int64_t, FlowData*> flows_;
  std::unordered_map<std::int64_t, SeriesData*> series_;
};

}  // namespace chokepoint::analysis
