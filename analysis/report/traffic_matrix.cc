#include "analysis/report/traffic_matrix.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

std::vector<std::string> names_of(const RunData& run, const FlowTable& table) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  };
  std::ranges::for_each(run.nodes, add, &NodeData::name);
  for (const FlowLine& line : table.flows) {
    std::ranges::for_each(line.sides, add, &FlowSide::name);
  }
  return names;
}

template <class T>
Square<T> square(std::size_t size) {
  return Square<T>(size, typename Square<T>::value_type(size));
}

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

}  // namespace

TrafficMatrix traffic_matrix(const RunData& run, const FlowTable& table,
                             std::optional<double> run_s) {
  TrafficMatrix matrix{.names = names_of(run, table),
                       .source = "payload by the flow totals of all nodes"};
  matrix.bytes = square<std::int64_t>(matrix.names.size());
  matrix.throughput_mbps = square<double>(matrix.names.size());
  for (const FlowLine& line : table.flows) {
    for (const std::size_t from : {0U, 1U}) {
      const auto& payload = line.ways.at(from).payload_bytes;
      if (!payload) {
        continue;
      }
      const std::size_t row = place_of(matrix.names, line.sides.at(from).name);
      const std::size_t column = place_of(matrix.names, line.sides.at(1 - from).name);
      auto& bytes = matrix.bytes[row][column];
      bytes = bytes.value_or(0) + *payload;
      if (run_s.value_or(0) > 0) {
        matrix.throughput_mbps[row][column] = static_cast<double>(*bytes) * 8 / 1e6 / *run_s;
      }
    }
  }
  return matrix;
}

}  // namespace chokepoint::analysis
