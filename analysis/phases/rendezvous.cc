#include "analysis/phases/rendezvous.h"

#include <algorithm>
#include <limits>

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kQuietNs = 25'000'000;  // of everybody, between two rounds
constexpr std::int64_t kBulkBytes = 16'000;    // of a bin: data, and no announcement
constexpr std::int64_t kClearly = 3;           // times what the moments may be off

struct Sending {
  std::size_t node = 0;
  std::int64_t t_ns = 0;
  std::int64_t blur_ns = 0;  // it may have been so much earlier
  std::int64_t bytes = 0;
};

void add_packets(const std::vector<record::FlowSample>& samples, std::size_t node,
                 const Clocks& clocks, std::vector<Sending>& sendings) {
  for (const record::FlowSample& sample : samples) {
    if (sample.payload_bytes.value_or(0) > 0) {
      sendings.push_back({.node = node,
                          .t_ns = clocks.common_ns(node, sample.t_ns),
                          .blur_ns = sample.bin_ns,
                          .bytes = sample.payload_bytes.value()});
    }
  }
}

void add_readings(const std::vector<record::SocketSample>& samples, std::size_t node,
                  const Clocks& clocks, std::vector<Sending>& sendings) {
  for (std::size_t place = 1; place < samples.size(); ++place) {
    const record::SocketSample& before = samples[place - 1];
    const std::int64_t bytes =
        samples[place].bytes_sent.value_or(0) - before.bytes_sent.value_or(0);
    if (before.bytes_sent.known() && bytes > 0) {
      sendings.push_back({.node = node,
                          .t_ns = clocks.common_ns(node, samples[place].t_ns),
                          .blur_ns = samples[place].t_ns - before.t_ns,
                          .bytes = bytes});
    }
  }
}

// What each node's own record says that it sent, by time.
std::vector<Sending> sendings_of(const RunData& run, const Clocks& clocks) {
  std::vector<Sending> sendings;
  for (const Connection& connection : run.connections) {
    for (const std::size_t side : {0U, 1U}) {
      const auto& end = connection.ends.at(side);
      if (!end) {
        continue;
      }
      const FlowData& flow = run.nodes[end->node].flows[end->flow];
      if (flow.packets.at(side).empty()) {
        add_readings(flow.sockets.at(side), end->node, clocks, sendings);
      } else {
        add_packets(flow.packets.at(side), end->node, clocks, sendings);
      }
    }
  }
  std::ranges::sort(sendings, {}, &Sending::t_ns);
  return sendings;
}

class Rounds {
 public:
  Rounds(const std::vector<Sending>& sendings, std::size_t nodes, const Spans& steps)
      : steps_(steps), takes_part_(nodes, false), came_(nodes) {
    for (const Sending& sending : sendings) {
      takes_part_[sending.node] = true;
    }
  }

  void take(const Sending& sending) {
    if (is_complete() && sending.t_ns - last_ns_ > kQuietNs) {
      close();
    }
    if (!came_[sending.node]) {
      came_[sending.node] = &sending;
    }
    if (bulk_ns_ == kNever && sending.bytes > kBulkBytes) {
      bulk_ns_ = sending.t_ns;
    }
    last_ns_ = sending.t_ns;
  }

  void close() {
    std::vector<const Sending*> in_order;
    for (const Sending* came : came_) {
      if (came != nullptr) {
        in_order.push_back(came);
      }
    }
    std::ranges::sort(in_order, {}, [](const Sending* came) { return came->t_ns; });
    if (is_complete() && in_order.size() > 1) {
      judge(*in_order[in_order.size() - 2], *in_order.back());
    }
    std::ranges::fill(came_, nullptr);
    bulk_ns_ = kNever;
  }

  std::vector<Late> late = {};

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  bool is_complete() const {
    for (std::size_t node = 0; node < came_.size(); ++node) {
      if (takes_part_[node] && came_[node] == nullptr) {
        return false;
      }
    }
    return true;
  }

  void judge(const Sending& before, const Sending& last) {
    const std::int64_t blur_ns = std::max(before.blur_ns, last.blur_ns);
    const bool has_waited_for_all = bulk_ns_ >= last.t_ns - blur_ns;
    if (!has_waited_for_all || !covers(steps_, last.t_ns)) {
      return;
    }
    const Span waited{before.t_ns, last.t_ns};
    if (waited.length_ns() > kClearly * blur_ns) {
      late.push_back({.node = last.node,
                      .waited = waited,
                      .lost_ns = static_cast<double>(waited.length_ns())});
    }
  }

  const Spans& steps_;
  std::vector<bool> takes_part_;
  std::vector<const Sending*> came_;  // of each node the first sending of this round
  std::int64_t bulk_ns_ = kNever;
  std::int64_t last_ns_ = 0;
};

}  // namespace

std::vector<Late> late_by_first_bytes(const RunData& run, const Clocks& clocks,
                                      const Spans& steps) {
  const std::vector<Sending> sendings = sendings_of(run, clocks);
  Rounds rounds(sendings, run.nodes.size(), steps);
  for (const Sending& sending : sendings) {
    rounds.take(sending);
  }
  rounds.close();
  return std::move(rounds.late);
}

}  // namespace chokepoint::analysis
