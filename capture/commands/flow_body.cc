#include "capture/commands/flow_body.h"

#include <limits>
#include <optional>

#include "capture/commands/units.h"
#include "capture/observer/ends_text.h"
#include "capture/packet/text.h"

namespace chokepoint::capture {
namespace {

using cli::Json;

constexpr std::uint32_t kNotTold = std::numeric_limits<std::uint32_t>::max();

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json or_null(const std::optional<math::Distribution>& values) {
  return values ? distribution_body(*values) : Json();
}

Json told(std::uint32_t value) { return value == kNotTold ? Json() : Json(value); }

Json end_body(const packet::Address& address, bool is_ipv6, std::uint16_t port) {
  return {{"address", packet::text_of(address, is_ipv6)}, {"port", port}};
}

void add_retransmissions(Json& body, const flow::DirectionFacts& facts) {
  const flow::Retransmissions& causes = facts.retransmissions;
  body["retransmitted_packets"] = facts.retransmitted_packets;
  body["retransmitted_bytes"] = facts.retransmitted_bytes;
  body["retransmissions"] = {{"fast", causes.fast},
                             {"timeout", causes.timeout},
                             {"spurious", causes.spurious},
                             {"probe", causes.probe},
                             {"unknown", causes.unknown}};
  body["out_of_order"] = facts.out_of_order;
  body["duplicate_acks"] = facts.duplicate_acks;
}

void add_windows(Json& body, const flow::DirectionFacts& facts) {
  body["zero_windows"] = facts.zero_windows;
  body["window_full"] = facts.window_full;
  body["rtt_ms"] = or_null(facts.rtt_ms);
  body["max_in_flight_bytes"] = facts.max_in_flight_bytes;
  body["max_window_bytes"] = or_null(facts.max_window_bytes);
  body["window_scale"] = or_null(facts.window_scale);
  body["cwnd_bytes"] = or_null(facts.cwnd_bytes);
  body["mss_bytes"] = or_null(facts.mss_bytes);
  body["timestamp_rtt_ms"] = or_null(facts.timestamp_rtt_ms);
}

void add_times(Json& body, const flow::DirectionFacts& facts) {
  body["busy_s"] = facts.busy_s;
  body["busy_throughput_mbps"] = facts.busy_s > 0 ? Json(facts.busy_throughput_mbps) : Json();
  body["busy_periods"] = facts.busy_periods;
  body["window_limited_s"] = facts.window_limited_s;
  body["zero_window_s"] = facts.zero_window_s;
}

void add_rarities(Json& body, const flow::DirectionFacts& facts) {
  body["unique_bytes"] = facts.unique_bytes;
  body["duplicates"] = facts.duplicates;
  body["lost_before_tap"] = facts.lost_before_tap;
  body["missing_bytes"] = facts.missing_bytes;
  body["keep_alives"] = facts.keep_alives;
  body["zero_window_probes"] = facts.zero_window_probes;
  body["sack_used"] = facts.used_sack;
  body["sack_acks"] = facts.sack_acks;
  body["dsack_acks"] = facts.dsack_acks;
}

void add_tcp(Json& body, const flow::DirectionFacts& facts) {
  add_retransmissions(body, facts);
  add_windows(body, facts);
  add_times(body, facts);
  add_rarities(body, facts);
}

// The same members, all unknown.
void add_no_tcp(Json& body) {
  Json names;
  add_tcp(names, {});
  for (const auto& [name, value] : names.items()) {
    body[name] = nullptr;
  }
}

Json direction_body(const flow::DirectionFacts& facts, bool is_tcp) {
  const bool has_length = facts.last_ns > facts.first_ns;
  Json body{{"packets", facts.packets},
            {"bytes", facts.bytes},
            {"payload_bytes", facts.payload_bytes},
            {"throughput_mbps", has_length ? Json(facts.throughput_mbps) : Json()}};
  if (is_tcp) {
    add_tcp(body, facts);
  } else {
    add_no_tcp(body);
  }
  body["longest_idle_s"] = has_length ? Json(facts.longest_idle_s) : Json();
  body["congestion_marks"] = facts.congestion_marks;
  body["frames"] = facts.frames;
  body["frame_bytes"] = facts.frame_bytes;
  return body;
}

Json bin_body(const flow::Bin& bin, std::int64_t first_ns) {
  constexpr double kUsPerMs = 1e3;
  return {{"start_s", seconds_of(bin.start_ns - first_ns)},
          {"width_s", seconds_of(bin.width_ns)},
          {"packets", bin.packets},
          {"bytes", bin.bytes},
          {"payload_bytes", bin.payload_bytes},
          {"retransmitted_packets", bin.retransmitted_packets},
          {"out_of_order", bin.out_of_order},
          {"duplicate_acks", bin.duplicate_acks},
          {"zero_windows", bin.zero_windows},
          {"window_full", bin.window_full},
          {"congestion_marks", bin.congestion_marks},
          {"max_in_flight_bytes", bin.max_in_flight_bytes},
          {"min_window_bytes", told(bin.min_window_bytes)},
          {"min_rtt_ms", bin.min_rtt_us == kNotTold ? Json() : Json(bin.min_rtt_us / kUsPerMs)},
          {"mean_rtt_ms", bin.rtt_samples == 0 ? Json()
                                               : Json(static_cast<double>(bin.rtt_sum_us) /
                                                      kUsPerMs / bin.rtt_samples)}};
}

}  // namespace

cli::Json flow_body(const flow::FlowFacts& facts, const std::string& interface,
                    std::int64_t first_ns) {
  const packet::Ends& ends = facts.ends;
  const bool is_tcp = facts.kind == packet::Kind::Tcp;
  return {{"protocol", observer::protocol_text(facts.kind)},
          {"a", end_body(ends.source, ends.is_ipv6, ends.source_port)},
          {"b", end_body(ends.destination, ends.is_ipv6, ends.destination_port)},
          {"tunnel", ends.tunnel == 0 ? Json() : Json(ends.tunnel)},
          {"interface", interface.empty() ? Json() : Json(interface)},
          {"start_s", seconds_of(facts.start_ns - first_ns)},
          {"end_s", seconds_of(facts.end_ns - first_ns)},
          {"handshake_seen", is_tcp ? Json(facts.handshake_seen) : Json()},
          {"closed", is_tcp ? Json(facts.is_closed) : Json()},
          {"path_rtt_ms", or_null(facts.path_rtt_ms)},
          {"a_to_b", direction_body(facts.directions[0], is_tcp)},
          {"b_to_a", direction_body(facts.directions[1], is_tcp)}};
}

cli::Json series_body(const std::vector<flow::Bin>& bins, std::int64_t first_ns) {
  Json list = Json::array();
  for (const flow::Bin& bin : bins) {
    list.push_back(bin_body(bin, first_ns));
  }
  return list;
}

cli::Json distribution_body(const math::Distribution& values) {
  if (values.count == 0) {
    return {};
  }
  return {{"min", values.min}, {"median", values.median}, {"p99", values.p99},
          {"max", values.max}, {"mean", values.mean},     {"count", values.count}};
}

double seconds_of(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / kNsPerSecond;
}

}  // namespace chokepoint::capture
