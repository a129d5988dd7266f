// One node's record into memory: first all but its samples, then the samples that a SamplePlan
// names. A node is loaded on one thread with its own Reader, several nodes at once.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "analysis/load/run_data.h"
#include "analysis/load/sample_plan.h"

namespace chokepoint::analysis {

// Of a record's sessions the last that watched a job, else the last; null if there is none.
// Borrowed.
const record::Session* main_session(const std::vector<record::Session>& sessions);

// All but samples. Flows and series are sorted by their ids.
NodeData load_node(record::Reader& reader);

// A host's interfaces, in the order in which its facts name them. Pure.
std::vector<Interface> interfaces_of(const std::vector<record::Fact>& facts);

// Samples go to their flows and series, both of which must be there; the others in order.
void load_samples(record::Reader& reader, const SamplePlan& plan, NodeData& node);

// Adds samples as they are read to the connection or series that they are of; those of none are
// dropped. Borrows the node, whose flows and series stay where they are.
class SampleSink {
 public:
  explicit SampleSink(NodeData& node) {
    for (FlowData& flow : node.flows) {
      flows_.emplace(flow.row.id, &flow);
    }
    for (SeriesData& series : node.series) {
      series_.emplace(series.row.id, &series);
    }
  }

  void add(const record::CounterSample& row) { add_reading(row, row.peak_per_s, 0); }
  void add(const record::GaugeSample& row) { add_reading(row, row.peak, row.value); }

  // On the side that the connection has it on: its ends may have been turned.
  template <class Row>
  void add(const Row& row, std::array<std::vector<Row>, 2> FlowData::* where) {
    const auto flow = flows_.find(row.flow);
    const auto reported = static_cast<std::size_t>(row.direction);
    if (flow == flows_.end() || reported > 1) {
      return;
    }
    const std::size_t side = flow->second->is_turned ? 1 - reported : reported;
    std::vector<Row>& rows = (flow->second->*where).at(side);
    rows.push_back(row);
    rows.back().direction = record::Direction(side);
  }

 private:
  template <class Row>
  void add_reading(const Row& row, double peak, double otherwise) {
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

// A connection's totals from packets, else from the sender's own counters, if the record has none:
// they are written when a connection is over, so not for a job that goes on or was killed. Pure.
void complete_totals(FlowData& flow);

}  // namespace chokepoint::analysis
