#include "analysis/report/json_values.h"
#include "analysis/report/parts_document.h"

namespace chokepoint::analysis {
namespace {

cli::Json json_of(const std::optional<OtherWay>& way) {
  return way ? cli::Json{{"address", text_or_null(way->address)}, {"mbps", way->mbps}}
             : cli::Json();
}

cli::Json json_of(const PathPicture& path) {
  return {{"from", path.from},
          {"to", path.to},
          {"is_wan", value_or_null(path.is_wan)},
          {"family", text_or_null(path.family)},
          {"min_rtt_ms", value_or_null(path.min_rtt_ms)},
          {"median_rtt_ms", value_or_null(path.median_rtt_ms)},
          {"retransmitted_percent", value_or_null(path.retransmitted_percent)},
          {"payload_bytes", value_or_null(path.payload_bytes)},
          {"reached_mbps", value_or_null(path.reached_mbps)},
          {"mean_busy_mbps", value_or_null(path.mean_busy_mbps)},
          {"interface_mbps", value_or_null(path.interface_mbps)},
          {"pcie_mbps", value_or_null(path.pcie_mbps)},
          {"probe_mbps", value_or_null(path.probe_mbps)},
          {"full_mbps", value_or_null(path.full_mbps)},
          {"other_way", json_of(path.other_way)},
          {"possible_mbps", value_or_null(path.possible_mbps())},
          {"limit", path.limit() == nullptr ? cli::Json() : cli::Json(path.limit())},
          {"source", path.source}};
}

}  // namespace

cli::Json paths_document(const std::vector<PathPicture>& paths) {
  cli::Json list = cli::Json::array();
  for (const PathPicture& path : paths) {
    list.push_back(json_of(path));
  }
  return list;
}

}  // namespace chokepoint::analysis
