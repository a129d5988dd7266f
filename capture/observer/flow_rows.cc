#include "capture/observer/flow_rows.h"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace chokepoint::capture::observer {
namespace {

template <class T>
record::Figure figure(const std::optional<T>& value) {
  return value ? record::Figure(*value) : record::Figure();
}

record::Figure told(std::uint32_t value) {
  return value == flow::kNoSample ? record::Figure() : record::Figure(value);
}

std::string distribution_text(const std::optional<math::Distribution>& values) {
  if (!values || values->count == 0) {
    return {};
  }
  return fmt::format(R"({{"min":{},"median":{},"p99":{},"max":{},"mean":{},"count":{}}})",
                     values->min, values->median, values->p99, values->max, values->mean,
                     values->count);
}

void add_loss(record::FlowTotal& row, const flow::DirectionFacts& facts) {
  row.retransmitted_packets = facts.retransmitted_packets;
  row.retransmitted_bytes = facts.retransmitted_bytes;
  row.out_of_order = facts.out_of_order;
  row.duplicate_acks = facts.duplicate_acks;
}

void add_tcp(record::FlowTotal& row, const flow::DirectionFacts& facts) {
  row.fast_retransmissions = facts.retransmissions.fast;
  row.timeout_retransmissions = facts.retransmissions.timeout;
  row.spurious_retransmissions = facts.retransmissions.spurious;
  row.zero_windows = facts.zero_windows;
  row.window_full = facts.window_full;
  row.max_in_flight_bytes = facts.max_in_flight_bytes;
  row.max_window_bytes = figure(facts.max_window_bytes);
  row.mss_bytes = figure(facts.mss_bytes);
  row.window_scale = figure(facts.window_scale);
  row.rtt_ms = distribution_text(facts.rtt_ms);
}

}  // namespace

record::FlowTotal total_of(std::int64_t flow, std::size_t direction, const flow::FlowFacts& facts) {
  const flow::DirectionFacts& half = facts.directions.at(direction);
  record::FlowTotal row{.flow = flow, .direction = static_cast<record::Direction>(direction)};
  row.packets = half.packets;
  row.bytes = half.bytes;
  row.payload_bytes = half.payload_bytes;
  row.congestion_marks = half.congestion_marks;
  if (facts.kind != packet::Kind::Udp) {
    add_loss(row, half);
  }
  if (facts.kind == packet::Kind::Tcp) {
    add_tcp(row, half);
  }
  return row;
}

record::FlowSample sample_of(const flow::Bin& bin) {
  record::FlowSample row{.bin_ns = bin.width_ns};
  row.packets = bin.packets;
  row.bytes = bin.bytes;
  row.payload_bytes = bin.payload_bytes;
  row.retransmitted_packets = bin.retransmitted_packets;
  row.retransmitted_bytes = bin.retransmitted_bytes;
  row.out_of_order = bin.out_of_order;
  row.duplicate_acks = bin.duplicate_acks;
  row.zero_windows = bin.zero_windows;
  row.window_full = bin.window_full;
  row.congestion_marks = bin.congestion_marks;
  if (bin.rtt_samples > 0) {
    row.rtt_us = bin.rtt_sum_us / bin.rtt_samples;
  }
  row.min_rtt_us = told(bin.min_rtt_us);
  row.max_in_flight_bytes = bin.max_in_flight_bytes;
  row.window_bytes = told(bin.window_bytes);
  row.min_window_bytes = told(bin.min_window_bytes);
  return row;
}

}  // namespace chokepoint::capture::observer
