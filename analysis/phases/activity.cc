#include "analysis/phases/activity.h"

#include <algorithm>
#include <iterator>

namespace chokepoint::analysis {
namespace {

constexpr double kMinResentShare = 0.5;  // of the packets of the bin that ends a wait
// Of a bin; fewer are acknowledgements and control messages.
constexpr std::int64_t kMinDataBytes = 1000;

bool has_samples(const FlowData& flow) {
  return std::ranges::any_of(flow.packets, [](const auto& samples) { return !samples.empty(); });
}

bool resumes(const record::FlowSample& sample) {
  const double packets = static_cast<double>(sample.packets.value_or(0));
  const double known = static_cast<double>(sample.retransmitted_packets.value_or(0)) +
                       static_cast<double>(sample.out_of_order.value_or(0));
  return packets > 0 && known >= kMinResentShare * packets;
}

// How long something was under way between the two.
std::int64_t busy_ns(const record::SocketSample& before, const record::SocketSample& now) {
  return before.busy_us.known() && now.busy_us.known()
             ? std::min((now.busy_us.value() - before.busy_us.value()) * 1000,
                        now.t_ns - before.t_ns)
             : 0;
}

// The kernel adds up how long a sender had something under way: of the time between two readings
// the later part is taken.
void add_busy(const std::vector<record::SocketSample>& samples, std::size_t node,
              const Clocks& clocks, Spans& spans) {
  for (std::size_t place = 1; place < samples.size(); ++place) {
    const std::int64_t end_ns = clocks.common_ns(node, samples[place].t_ns);
    spans.push_back({end_ns - busy_ns(samples[place - 1], samples[place]), end_ns});
  }
}

void add_packets(const std::vector<record::FlowSample>& samples, std::size_t node,
                 const Clocks& clocks, Spans& spans) {
  for (const record::FlowSample& sample : samples) {
    if (sample.payload_bytes.value_or(0) > kMinDataBytes) {
      const std::int64_t end_ns = clocks.common_ns(node, sample.t_ns);
      spans.push_back({end_ns - sample.bin_ns, end_ns});
    }
  }
}

Spans on_common_clock(const Spans& spans, std::size_t node, const Clocks& clocks) {
  Spans common;
  for (const Span& span : spans) {
    common.push_back({clocks.common_ns(node, span.start_ns), clocks.common_ns(node, span.end_ns)});
  }
  return common;
}

template <class Add>
Spans of_all(const RunData& run, Add add) {
  Spans spans;
  for (const Connection& connection : run.exchanging()) {
    for (const auto& end : connection.ends) {
      if (end) {
        add(run.flow(*end), end->node, spans);
      }
    }
  }
  return united(std::move(spans));
}

void add_stalls(const std::vector<record::SocketSample>& samples, std::size_t node,
                const Clocks& clocks, Spans& spans) {
  // Samples are frequent while something changes, so a stall may span many of them. Before it the
  // connection may have been idle.
  std::size_t since = 0;
  for (std::size_t place = 1; place < samples.size(); ++place) {
    const record::SocketSample& now = samples[place];
    const bool moves = now.bytes_acked.value_or(0) > samples[since].bytes_acked.value_or(0);
    const std::int64_t stalled_ns = busy_ns(samples[since], now);
    if (!moves && stalled_ns > kStallNs) {
      const std::int64_t end_ns = clocks.common_ns(node, now.t_ns);
      spans.push_back({end_ns - stalled_ns, end_ns});
    }
    since = moves ? place : since;
  }
}

bool is_new(const record::FlowSample& sample) {
  return sample.payload_bytes.value_or(0) > sample.retransmitted_bytes.value_or(0);
}

bool has_resent(const record::FlowSample& sample) {
  return sample.retransmitted_packets.value_or(0) > 0;
}

// Of a connection that was captured: between what passed in either direction nothing did for long
// but retransmissions, some of which were seen.
Spans silences_of(const FlowData& flow) {
  std::vector<const record::FlowSample*> samples;
  for (const auto& of_side : flow.packets) {
    for (const record::FlowSample& sample : of_side) {
      if (sample.payload_bytes.value_or(0) > 0) samples.push_back(&sample);
    }
  }
  std::ranges::sort(samples, {}, &record::FlowSample::t_ns);
  Spans silences;
  std::optional<std::int64_t> moved_ns;
  bool is_resent = false;
  for (const record::FlowSample* sample : samples) {
    is_resent = is_resent || has_resent(*sample);
    if (!is_new(*sample)) continue;
    const std::int64_t begin_ns = sample->t_ns - sample->bin_ns;
    if (moved_ns && is_resent && begin_ns - *moved_ns > kStallNs) {
      silences.push_back({*moved_ns, begin_ns});
    }
    moved_ns = sample->t_ns;
    is_resent = false;
  }
  return silences;
}

Spans shortened(Spans spans, std::int64_t by_ns) {
  for (Span& span : spans) {
    span.end_ns -= by_ns;
  }
  return united(std::move(spans));
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
    if (sample.payload_bytes.value_or(0) <= kMinDataBytes) {
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

std::optional<FlowPlace> observed_end(const RunData& run, const Connection& connection,
                                      std::size_t preferred) {
  std::optional<FlowPlace> chosen;
  for (const std::optional<FlowPlace>& end : connection.ends) {
    const bool is_seen = end && has_samples(run.flow(*end));
    if (is_seen && (!chosen || end->node == preferred)) {
      chosen = end;
    }
  }
  return chosen;
}

std::optional<std::int64_t> sender_rank(const RunData& run, const Connection& connection,
                                        std::size_t side) {
  const auto& end = connection.ends.at(side);
  if (!end) {
    return std::nullopt;
  }
  const NodeData& node = run.nodes[end->node];
  if (const auto rank = connection.ranks.at(side) ? connection.ranks.at(side) : node.rank()) {
    return rank;
  }
  const bool has_ranks = std::ranges::any_of(
      node.processes, [](const record::Process& process) { return process.rank.known(); });
  return has_ranks ? std::nullopt : std::optional<std::int64_t>(-1);
}

SenderActivity senders_of(const RunData& run, const Clocks& clocks, std::size_t node,
                          std::int64_t rank) {
  SenderActivity activity;
  for (const Connection& connection : run.exchanging()) {
    for (const std::size_t side : {0U, 1U}) {
      const auto& end = connection.ends.at(side);
      if (!end || end->node != node || (rank >= 0 && sender_rank(run, connection, side) != rank)) {
        continue;
      }
      if (const auto seen = observed_end(run, connection, node);
          seen && run.nodes[seen->node].is_capture) {
        const Spans silences = on_common_clock(silences_of(run.flow(*seen)), seen->node, clocks);
        std::ranges::copy(silences, std::back_inserter(activity.busy));
        std::ranges::copy(silences, std::back_inserter(activity.stalled));
      }
      const auto& samples = run.flow(*end).sockets.at(side);
      Spans busy;
      add_busy(samples, node, clocks, busy);
      std::ranges::copy(shortened(united(std::move(busy)), least_rtt_us(samples) * 1000),
                        std::back_inserter(activity.busy));
      add_stalls(samples, node, clocks, activity.stalled);
    }
  }
  return {united(std::move(activity.busy)), united(std::move(activity.stalled))};
}

Spans roce_activity(const RunData& run, const Clocks& clocks) {
  Spans spans;
  for (const Connection& connection : run.exchanging()) {
    const auto end = observed_end(run, connection, clocks.reference);
    if (!end || !is_roce(run.flow(*end))) {
      continue;
    }
    for (const auto& samples : run.flow(*end).packets) {
      add_packets(samples, end->node, clocks, spans);
      std::ranges::copy(on_common_clock(waits_of(samples), end->node, clocks),
                        std::back_inserter(spans));
    }
  }
  return united(std::move(spans));
}

Activity activity_of(const RunData& run, const Clocks& clocks) {
  Spans busy = of_all(run, [&](const FlowData& flow, std::size_t node, Spans& spans) {
    for (const auto& samples : flow.sockets) {
      add_busy(samples, node, clocks, spans);
    }
  });
  if (!busy.empty()) {
    return {PhaseSource::Sockets, std::move(busy)};
  }
  Spans moving = of_all(run, [&](const FlowData& flow, std::size_t node, Spans& spans) {
    for (const auto& samples : flow.packets) {
      if (!is_roce(flow)) {
        add_packets(samples, node, clocks, spans);
      }
    }
  });
  std::ranges::move(roce_activity(run, clocks), std::back_inserter(moving));
  moving = united(std::move(moving));
  return {moving.empty() ? PhaseSource::None : PhaseSource::Packets, std::move(moving)};
}

}  // namespace chokepoint::analysis
