#include "analysis/report/flow_ways.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace chokepoint::analysis {
namespace {

using record::Figure;
using record::FlowTotal;

// The record writes totals of bytes on the wire; what was made up for them out of samples has none.
bool is_from_record(const FlowTotal& total) { return total.bytes.known(); }

// One direction's totals at both ends.
class Totals {
 public:
  Totals(const RunData& run, const DirectionView& view)
      : at_sender_(total_of(run, view.sender, view.at_sender, side_of(view))),
        at_receiver_(total_of(run, view.receiver, view.at_receiver, side_of(view))) {}

  std::optional<std::int64_t> sent(Figure FlowTotal::* figure) const {
    const auto told = of(at_sender_, figure);
    return told ? told : of(at_receiver_, figure);
  }
  std::optional<std::int64_t> arrived(Figure FlowTotal::* figure) const {
    const auto told = of(at_receiver_, figure);
    return told ? told : of(at_sender_, figure);
  }
  const FlowTotal* at_sender() const { return at_sender_; }

 private:
  // Where samples were read in windows, what was added up from them is not the whole.
  static const FlowTotal* total_of(const RunData& run, std::optional<std::size_t> node,
                                   const FlowData* flow, std::size_t side) {
    if (flow == nullptr || !node) {
      return nullptr;
    }
    const FlowTotal& total = flow->totals.at(side);
    const bool is_part = !is_from_record(total) && !flow->packets.at(side).empty() &&
                         !run.nodes[*node].windows.empty();
    return is_part ? nullptr : &total;
  }

  static std::optional<std::int64_t> of(const FlowTotal* total, Figure FlowTotal::* figure) {
    return total == nullptr ? std::nullopt : optional_of(total->*figure);
  }

  const FlowTotal* at_sender_;
  const FlowTotal* at_receiver_;
};

std::optional<double> number(const nlohmann::json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_number() ? std::optional(value->get<double>())
                                                     : std::nullopt;
}

std::optional<math::Distribution> distribution_in(const std::string& text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) {
    return std::nullopt;
  }
  const auto count = number(object, "count");
  const auto median = number(object, "median");
  if (!median || count.value_or(0) < 1) {
    return std::nullopt;
  }
  return math::Distribution{.min = number(object, "min").value_or(*median),
                            .median = *median,
                            .p99 = number(object, "p99").value_or(*median),
                            .max = number(object, "max").value_or(*median),
                            .mean = number(object, "mean").value_or(*median),
                            .count = static_cast<std::uint64_t>(std::min(*count, 1e18))};
}

const std::vector<record::SocketSample>* sockets_of(const DirectionView& view) {
  return view.at_sender == nullptr ? nullptr : &view.at_sender->sockets.at(side_of(view));
}

std::optional<std::int64_t> most_cwnd_bytes(const DirectionView& view,
                                            std::optional<std::int64_t> usual_mss) {
  std::optional<std::int64_t> most;
  if (const auto* sockets = sockets_of(view)) {
    for (const record::SocketSample& sample : *sockets) {
      if (const auto bytes = cwnd_bytes(sample, usual_mss)) {
        most = std::max(most.value_or(0), *bytes);
      }
    }
  }
  return most;
}

// The kernel's count goes on between windows.
std::optional<std::int64_t> payload_of_sockets(const DirectionView& view) {
  const auto* sockets = sockets_of(view);
  return sockets == nullptr || sockets->empty() ? std::nullopt
                                                : optional_of(sockets->back().bytes_sent);
}

// By the kernel's own stopwatch, which has run since the connection began.
std::optional<double> busy_of_sockets(const DirectionView& view) {
  std::optional<double> busy;
  if (const auto* sockets = sockets_of(view)) {
    for (const record::SocketSample& sample : *sockets) {
      if (sample.busy_us.known()) {
        busy = std::max(busy.value_or(0), static_cast<double>(sample.busy_us.value()) / 1e6);
      }
    }
  }
  return busy;
}

// The bins in which payload passed, where all of them were read.
std::optional<double> busy_of_packets(const RunData& run, const DirectionView& view) {
  const auto& packets = view.best().packets.at(side_of(view));
  if (packets.empty() || !run.nodes[view.best_node()].windows.empty()) {
    return std::nullopt;
  }
  double busy_ns = 0;
  for (const record::FlowSample& sample : packets) {
    busy_ns += sample.payload_bytes.value_or(0) > 0 ? static_cast<double>(sample.bin_ns) : 0;
  }
  return busy_ns / 1e9;
}

}  // namespace

std::optional<std::int64_t> optional_of(Figure figure) {
  return figure.known() ? std::optional(figure.value()) : std::nullopt;
}

std::optional<std::int64_t> cwnd_bytes(const record::SocketSample& sample,
                                       std::optional<std::int64_t> usual_mss) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // of either; beyond it a row is bad
  const std::int64_t packets = sample.cwnd_packets.value_or(-1);
  const std::int64_t mss = sample.mss_bytes.value_or(usual_mss.value_or(0));
  const bool is_told = packets >= 0 && packets <= kMost && mss > 0 && mss <= kMost;
  return is_told ? std::optional(packets * mss) : std::nullopt;
}

bool has_samples(const DirectionView& view) {
  const auto* sockets = sockets_of(view);
  return (sockets != nullptr && sockets->size() > 1) ||
         !view.best().packets.at(side_of(view)).empty();
}

FlowWay flow_way(const RunData& run, const DirectionView& view) {
  const Totals totals(run, view);
  FlowWay way{.bytes = totals.sent(&FlowTotal::bytes),
              .payload_bytes = totals.sent(&FlowTotal::payload_bytes),
              .packets = totals.sent(&FlowTotal::packets),
              .retransmitted_packets = totals.sent(&FlowTotal::retransmitted_packets),
              .fast_retransmissions = totals.sent(&FlowTotal::fast_retransmissions),
              .timeout_retransmissions = totals.sent(&FlowTotal::timeout_retransmissions),
              .out_of_order = totals.arrived(&FlowTotal::out_of_order),
              .duplicate_acks = totals.sent(&FlowTotal::duplicate_acks),
              .zero_windows = totals.sent(&FlowTotal::zero_windows),
              .window_full = totals.sent(&FlowTotal::window_full),
              .max_in_flight_bytes = totals.sent(&FlowTotal::max_in_flight_bytes),
              .max_window_bytes = totals.sent(&FlowTotal::max_window_bytes)};
  if (!way.payload_bytes) {
    way.payload_bytes = payload_of_sockets(view);
  }
  way.max_cwnd_bytes = most_cwnd_bytes(view, totals.sent(&FlowTotal::mss_bytes));
  const auto busy_s = busy_of_sockets(view);
  way.busy_s = busy_s ? busy_s : busy_of_packets(run, view);
  if (totals.at_sender() != nullptr) {
    way.rtt_ms = distribution_in(totals.at_sender()->rtt_ms);
  }
  return way;
}

}  // namespace chokepoint::analysis
