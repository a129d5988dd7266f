#include "analysis/report/json_values.h"
#include "analysis/report/parts_document.h"

namespace chokepoint::analysis {
namespace {

using cli::Json;

Json json_of(const std::optional<math::Distribution>& values) {
  if (!values) {
    return {};
  }
  return {{"min", values->min}, {"median", values->median}, {"p99", values->p99},
          {"max", values->max}, {"mean", values->mean},     {"count", values->count}};
}

Json json_of(const std::optional<LimitTimes>& times) {
  if (!times) {
    return {};
  }
  constexpr std::array kKeys{
      "link",           "loss",      "receive_window", "send_buffer", "congestion_window",
      "library_credit", "round_trip"};
  static_assert(kKeys.size() == kLimits);
  Json by_limit = Json::object();
  for (std::size_t limit = 0; limit < kLimits; ++limit) {
    by_limit[kKeys.at(limit)] = times->ns.at(limit) / 1e6;
  }
  return by_limit;
}

Json json_of(const FlowSide& side) {
  return {{"name", side.name},
          {"address", side.address},
          {"port", value_or_null(side.port)},
          {"rank", value_or_null(side.rank)},
          {"interface", text_or_null(side.interface)},
          {"process", text_or_null(side.process)}};
}

Json json_of(const FlowWay& way) {
  return {{"bytes", value_or_null(way.bytes)},
          {"payload_bytes", value_or_null(way.payload_bytes)},
          {"packets", value_or_null(way.packets)},
          {"retransmitted_packets", value_or_null(way.retransmitted_packets)},
          {"retransmitted_percent", value_or_null(way.retransmitted_percent())},
          {"fast_retransmissions", value_or_null(way.fast_retransmissions)},
          {"timeout_retransmissions", value_or_null(way.timeout_retransmissions)},
          {"out_of_order", value_or_null(way.out_of_order)},
          {"duplicate_acks", value_or_null(way.duplicate_acks)},
          {"zero_windows", value_or_null(way.zero_windows)},
          {"window_full", value_or_null(way.window_full)},
          {"throughput_mbps", value_or_null(way.throughput_mbps)},
          {"busy_s", value_or_null(way.busy_s)},
          {"busy_mbps", value_or_null(way.busy_mbps)},
          {"max_in_flight_bytes", value_or_null(way.max_in_flight_bytes)},
          {"max_window_bytes", value_or_null(way.max_window_bytes)},
          {"max_cwnd_bytes", value_or_null(way.max_cwnd_bytes)},
          {"rtt_ms", json_of(way.rtt_ms)},
          {"limited_by", json_of(way.limited_by)}};
}

const std::string& first_known(const std::string& one, const std::string& other) {
  return one.empty() ? other : one;
}

Json json_of(const FlowLine& line, std::size_t id) {
  const auto& [a, b] = line.sides;
  return {{"id", id},
          {"protocol", line.protocol},
          {"a", json_of(a)},
          {"b", json_of(b)},
          {"interface", text_or_null(first_known(a.interface, b.interface))},
          {"process", text_or_null(first_known(a.process, b.process))},
          {"start_s", value_or_null(line.start_s)},
          {"end_s", value_or_null(line.end_s)},
          {"min_rtt_ms", value_or_null(line.min_rtt_ms)},
          {"rtt_ms", json_of(line.rtt_ms())},
          {"a_to_b", json_of(line.ways[0])},
          {"b_to_a", json_of(line.ways[1])},
          {"seen_by", line.seen_by},
          {"source", line.source}};
}

}  // namespace

Json flows_document(const FlowTable& table) {
  Json list = Json::array();
  for (const FlowLine& line : table.flows) {
    list.push_back(json_of(line, list.size()));
  }
  return list;
}

}  // namespace chokepoint::analysis
