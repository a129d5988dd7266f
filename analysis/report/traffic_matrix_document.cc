#include "analysis/report/json_values.h"
#include "analysis/report/parts_document.h"

namespace chokepoint::analysis {
namespace {

using cli::Json;

template <class T>
Json json_of(const Square<T>& square) {
  Json rows = Json::array();
  for (const auto& row : square) {
    Json cells = Json::array();
    for (const std::optional<T>& cell : row) {
      cells.push_back(value_or_null(cell));
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

}  // namespace

Json matrix_document(const TrafficMatrix& matrix) {
  return {{"names", matrix.names},
          {"bytes", json_of(matrix.bytes)},
          {"throughput_mbps", json_of(matrix.throughput_mbps)},
          {"source", matrix.source}};
}

}  // namespace chokepoint::analysis
