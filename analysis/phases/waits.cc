#include "analysis/phases/waits.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

constexpr double kMostlyResent = 0.5;      // of a bin that ends a wait
constexpr std::int64_t kDataBytes = 1000;  // less are acknowledgements and words

bool has_samples(const FlowData& flow) {
  return std::ranges::any_of(flow.packets, [](const auto& way) { return !way.empty(); });
}

bool resumes(const record::FlowSample& sample) {
  const double packets = static_cast<double>(sample.packets.value_or(0));
  const auto known = static_cast<double>(sample.retransmitted_packets.value_or(0) +
                                         sample.out_of_order.value_or(0));
  return packets > 0 && known >= kMostlyResent * packets;
}

}  // namespace

bool is_roce(const FlowData& flow) { return flow.row.protocol == "roce"; }

double resent_share(const record::FlowSample& sample) {
  const auto bytes = static_cast<double>(sample.payload_bytes.value_or(0));
  const auto resent = static_cast<double>(sample.retransmitted_bytes.value_or(0));
  return bytes > 0 ? std::min(1.0, resent / bytes) : 0;
}

Spans waits_of(const std::vector<record::FlowSample>& samples) {
  Spans waits;
  std::optional<std::int64_t> moved_ns;
  for (const record::FlowSample& sample : samples) {
    if (sample.payload_bytes.value_or(0) <= kDataBytes) {
      continue;
    }
    const std::int64_t begin_ns = sample.t_ns - sample.bin_ns;
    if (moved_ns && begin_ns > *moved_ns && resumes(sample)) {
      waits.push_back({*moved_ns, begin_ns});
    }
    moved_ns = sample.t_ns;
  }
  return united(std::move(waits));
}

std::optional<FlowPlace> telling_end(const RunData& run, const Connection& connection,
                                     std::size_t preferred) {
  std::optional<FlowPlace> telling;
  for (const std::optional<FlowPlace>& end : connection.ends) {
    const bool tells = end && has_samples(run.nodes[end->node].flows[end->flow]);
    if (tells && (!telling || end->node == preferred)) {
      telling = end;
    }
  }
  return telling;
}

}  // namespace chokepoint::analysis
