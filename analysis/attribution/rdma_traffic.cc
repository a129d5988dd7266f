#include "analysis/attribution/rdma_traffic.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "analysis/attribution/findings.h"
#include "analysis/attribution/hosts.h"
#include "analysis/attribution/judgement.h"
#include "analysis/phases/activity.h"
#include "base/host/rdma.h"
#include "base/math/statistics.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMinPacket = 1024;  // bytes; estimate for a port that counts only packets
// Bytes of ports to those of sockets; ports count storage and other jobs, too.
constexpr double kMinRdmaToSockets = 4;
constexpr std::array kNaks{record::kRdmaSequenceErrors, record::kRdmaImpliedSequenceErrors};
constexpr std::array kCongestionSigns{record::kRdmaCongestionHandled, record::kRdmaEcnMarked};

template <std::size_t N>
double sum_of(const std::array<std::string_view, N>& names, const NodeData& node,
              const std::string& port, Span span) {
  double sum = 0;
  for (const std::string_view name : names) {
    sum += grown(node, name, port, span);
  }
  return sum;
}

// One loss is counted several times: as the NAK, as the retransmission, or as a time-out. A device
// in software also times out when its host has no free processor, so only its NAKs count.
double resent_of(const NodeData& node, const RdmaPort& port, Span span) {
  const auto count = [&](std::string_view name) { return grown(node, name, port.name, span); };
  const double naks = sum_of(kNaks, node, port.name, span);
  if (port.is_software) {
    return naks;
  }
  return std::max({naks + count(record::kRdmaAckTimeouts), count(record::kRdmaRetransmissions),
                   count(record::kRdmaAdaptiveRetransmissions)});
}

std::string device_of(const std::string& port) { return port.substr(0, port.find('/')); }

void describe(const NodeData& node, RdmaPort& port) {
  for (const record::Fact& fact : node.facts) {
    if (fact.category == "rdma" && fact.subject == port.name) {
      if (fact.key == "netdev") {
        port.netdev = fact.value;
      } else if (fact.key == "rate") {
        port.line_mbps = host::rdma_rate_mbps(fact.value);
      }
    }
    port.is_software =
        port.is_software || (fact.category == "rdma" && fact.subject == device_of(port.name) &&
                             fact.key == host::kRdmaInSoftware);
  }
  if (port.is_software) {
    port.line_mbps.reset();  // its rate is a nominal one
  }
}

RdmaPort port_of(const NodeData& node, const std::string& name, Span span) {
  RdmaPort port{.node = node.name, .name = name};
  describe(node, port);
  port.sent_bytes = grown(node, record::kRdmaSentBytes, name, span);
  port.received_bytes = grown(node, record::kRdmaReceivedBytes, name, span);
  port.packets = grown(node, record::kRdmaSentPackets, name, span);
  port.resent = resent_of(node, port, span);
  port.timeouts = grown(node, record::kRdmaAckTimeouts, name, span);
  port.missed = grown(node, record::kRdmaOutOfSequence, name, span);
  if (port.busier_bytes() <= 0) {
    port.counts_bytes = false;
    port.received_bytes = kMinPacket * grown(node, record::kRdmaReceivedPackets, name, span);
    port.sent_bytes = kMinPacket * port.packets;
  }
  port.slowed = sum_of(kCongestionSigns, node, name, span);
  port.paused_ms = grown(node, record::kNicReceivedPauseTime, port.netdev, span) / 1e3;
  port.pausing_ms = grown(node, record::kNicSentPauseTime, port.netdev, span) / 1e3;
  if (port.paused_ms <= 0) {
    port.slowed +=
        grown(node, record::kNicReceivedPauses, port.netdev, span);  // ice counts no time
  }
  return port;
}

// Those that moved data.
std::vector<RdmaPort> ports_of(const NodeData& node, Span span) {
  std::set<std::string> names;
  for (const SeriesData& series : node.series) {
    if (series.row.name.starts_with(record::kRdmaPrefix)) {
      names.insert(series.row.subject);
    }
  }
  std::vector<RdmaPort> ports;
  for (const std::string& name : names) {
    RdmaPort port = port_of(node, name, span);
    if (port.busier_bytes() > 0) {
      ports.push_back(std::move(port));
    }
  }
  return ports;
}

// Of all queue pairs of a way in one bin.
struct RoceBin {
  double bytes = 0;
  double resent_bytes = 0;
  double inside_ns = 0;

  double resending_ns() const { return bytes > 0 ? inside_ns * resent_bytes / bytes : 0; }
};

// What one direction shows of itself, and of the other one by its replies.
struct RoceCounts {
  RoceDirection direction = {};
  double filled = 0;    // gaps in it that were filled later
  double reported = 0;  // packets of the other way that its sender missed
  Spans marked = {};
  std::map<std::pair<std::int64_t, std::int64_t>, RoceBin> bins = {};
};

class RoceCounter {
 public:
  RoceCounter(const Clocks& clocks, const StepLine& steps)
      : clocks_(clocks), inside_(united(steps.settled)) {}

  void add(const FlowData& flow, std::size_t node, const Connection& connection) {
    for (const std::size_t side : {0U, 1U}) {
      RoceCounts& counted = directions_[{connection.names.at(side), connection.names.at(1 - side)}];
      for (const record::FlowSample& sample : flow.packets.at(side)) {
        count(sample, node, counted);
      }
      for (const Span& wait : waits_of(flow.packets.at(side))) {
        waits_.push_back(common(wait, node));
      }
    }
  }

  RoceView view() && {
    RoceView view;
    for (auto& [pair, counted] : directions_) {
      const auto back = directions_.find({pair.second, pair.first});
      const double reported = back == directions_.end() ? 0 : back->second.reported;
      counted.direction.from = pair.first;
      counted.direction.to = pair.second;
      counted.direction.missing = std::max(counted.filled, reported);
      add_times(counted);
    }
    for (auto& [pair, counted] : directions_) {
      if (counted.direction.packets > 0) {
        view.directions.push_back(std::move(counted.direction));
      }
    }
    const Spans waited = common_to(united(std::move(waits_)), inside_);
    view.waited_ns = static_cast<double>(length_ns(waited));
    return view;
  }

 private:
  // Queue pairs that send side by side share the time.
  void add_times(RoceCounts& counted) const {
    const Spans marked = common_to(united(std::move(counted.marked)), inside_);
    counted.direction.marked_ns = static_cast<double>(length_ns(marked));
    for (const auto& [bin, moved] : counted.bins) {
      counted.direction.resending_ns += moved.resending_ns();
    }
  }

  Span common(const Span& span, std::size_t node) const {
    return {clocks_.common_ns(node, span.start_ns), clocks_.common_ns(node, span.end_ns)};
  }

  void count(const record::FlowSample& sample, std::size_t node, RoceCounts& counted) const {
    const Span span = common({sample.t_ns - sample.bin_ns, sample.t_ns}, node);
    const auto inside_ns = static_cast<double>(covered_ns(inside_, span));
    if (inside_ns <= 0) {
      return;
    }
    const auto add = [](const record::Figure& figure, double& sum) {
      sum += static_cast<double>(figure.value_or(0));
    };
    add(sample.packets, counted.direction.packets);
    add(sample.payload_bytes, counted.direction.payload_bytes);
    add(sample.retransmitted_packets, counted.direction.resent_packets);
    add(sample.congestion_marks, counted.direction.marks);
    add(sample.out_of_order, counted.filled);
    add(sample.duplicate_acks, counted.reported);
    if (sample.congestion_marks.value_or(0) > 0) {
      counted.marked.push_back(span);
    }
    RoceBin& moved = counted.bins[{span.start_ns, span.end_ns}];
    const auto bytes = static_cast<double>(sample.payload_bytes.value_or(0));
    moved.bytes += bytes;
    moved.resent_bytes += resent_share(sample) * bytes;
    moved.inside_ns = inside_ns;
  }

  const Clocks& clocks_;
  Spans inside_;
  Spans waits_;
  std::map<std::pair<std::string, std::string>, RoceCounts> directions_;
};

// nullptr if it is nowhere above 0.
template <class Measure>
const RoceDirection* most_above_0(const std::vector<RoceDirection>& directions, Measure measure) {
  const RoceDirection* most = math::most_by(directions, measure);
  return most == nullptr || std::invoke(measure, *most) <= 0 ? nullptr : most;
}

Phases unseen(const RunData& run, const Clocks& clocks, const StepLine& steps, const Phases& seen) {
  const double needed_ms =
      wire_ms(all_rdma_ports(run, clocks, steps), count_between(steps.settled));
  const bool is_little = needed_ms > 0 && needed_ms < kMattersPercent / 100 * seen.step_ms;
  Phases phases{.step_ms = seen.step_ms, .late_ms = std::vector<double>(run.nodes.size(), 0)};
  phases.exposed_ms = is_little ? needed_ms : seen.step_ms;
  phases.computing_ms = seen.step_ms - phases.exposed_ms;
  return phases;
}

Phases by_packets(const StepLine& steps, const Phases& seen, const Spans& moving) {
  Phases phases{.source = PhaseSource::Packets,
                .step_ms = seen.step_ms,
                .late_ms = std::vector<double>(seen.late_ms.size(), 0),
                .communicating = moving};
  const double moving_ms = static_cast<double>(length_ns(moving)) / 1e6;
  phases.exposed_ms = std::min(seen.step_ms, moving_ms / count_between(steps.settled));
  phases.computing_ms = seen.step_ms - phases.exposed_ms;
  return phases;
}

}  // namespace

std::vector<RdmaPort> all_rdma_ports(const RunData& run, const Clocks& clocks,
                                     const StepLine& steps) {
  std::vector<RdmaPort> all;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    std::ranges::move(ports_of(run.nodes[place], settled_span(run, clocks, steps, place)),
                      std::back_inserter(all));
  }
  std::ranges::sort(all, std::ranges::greater{}, &RdmaPort::busier_bytes);
  return all;
}

double wire_ms(const std::vector<RdmaPort>& ports, double steps) {
  double most_ms = 0;
  for (const RdmaPort& port : ports) {
    const double line_mbps = port.line_mbps.value_or(0);
    most_ms = std::max(most_ms, line_mbps > 0 ? port.busier_bytes() * 8e-3 / line_mbps / steps : 0);
  }
  return most_ms;
}

double RoceView::loss_ns() const {
  const RoceDirection* most = math::most_by(directions, &RoceDirection::resending_ns);
  return waited_ns + (most == nullptr ? 0 : most->resending_ns);
}

const RoceDirection* RoceView::most_lossy() const {
  return most_above_0(directions, &RoceDirection::lossiness);
}
const RoceDirection* RoceView::most_marked() const {
  return most_above_0(directions, &RoceDirection::markedness);
}

RoceView roce_view(const RunData& run, const Clocks& clocks, const StepLine& steps) {
  RoceCounter counter(clocks, steps);
  for (const Connection& connection : run.connections) {
    const auto end = observed_end(run, connection, clocks.reference);
    if (end && is_roce(run.flow(*end))) {
      counter.add(run.flow(*end), end->node, connection);
    }
  }
  return std::move(counter).view();
}

bool goes_by_rdma(const RunData& run, const Clocks& clocks, const StepLine& steps) {
  double by_rdma = 0;
  for (const RdmaPort& port : all_rdma_ports(run, clocks, steps)) {
    by_rdma += port.sent_bytes + port.received_bytes;
  }
  double by_sockets = 0;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const Span span = settled_span(run, clocks, steps, place);
    for (const std::string_view name : {record::kJobSentBytes, record::kJobReceivedBytes}) {
      for (const SeriesData* series : run.nodes[place].find(name)) {
        by_sockets += growth(*series, span).value_or(0);
      }
    }
  }
  return by_rdma > kMinRdmaToSockets * by_sockets;
}

Phases rdma_phases(const RunData& run, const Clocks& clocks, const StepLine& steps, Phases seen) {
  if (seen.source == PhaseSource::Library) {
    return seen;
  }
  const Spans moving = common_to(roce_activity(run, clocks), united(steps.settled));
  return moving.empty() ? unseen(run, clocks, steps, seen) : by_packets(steps, seen, moving);
}

}  // namespace chokepoint::analysis
