#include "analysis/limits/direction.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>

#include "analysis/load/run_data.h"
#include "base/math/queue.h"
#include "base/math/statistics.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

// "4096 16384 4194304": the last is the maximum.
std::optional<double> last_number(std::string_view text) {
  const std::size_t space = text.find_last_of(" \t");
  text = space == std::string_view::npos ? text : text.substr(space + 1);
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

std::optional<double> send_buffer_of(const NodeData& node) {
  // The kernel lets one super-frame into a buffer of any size.
  constexpr double kSuperFrame = 65536;
  for (const record::Fact& fact : node.facts) {
    if (fact.key == "net.ipv4.tcp_wmem") {
      const std::optional<double> most = last_number(fact.value);
      return most ? std::optional(std::max(*most, kSuperFrame)) : std::nullopt;
    }
  }
  return std::nullopt;
}

using record::FlowSample;
using record::SocketSample;

template <class Row>
std::vector<double> known_of(const std::vector<Row>& rows, record::Figure Row::* member) {
  std::vector<double> values;
  for (const Row& row : rows) {
    if ((row.*member).value_or(0) > 0) {
      values.push_back(static_cast<double>((row.*member).value()));
    }
  }
  return values;
}

// The minimum before the first retransmission: until then an acknowledgement cannot be taken for
// that of another copy of the packet.
std::int64_t sure_rtt_us(const std::vector<SocketSample>& samples) {
  std::int64_t least_us = 0;
  for (const SocketSample& sample : samples) {
    if (sample.retransmits.value_or(1) > 0) {
      break;
    }
    least_us = lesser_rtt_us(least_us, sample.min_rtt_us.value_or(0));
  }
  return least_us;
}

// Without sockets, the handshake's among them.
double sure_rtt_us(const std::vector<FlowSample>& samples) {
  std::int64_t least_us = 0;
  for (const FlowSample& sample : samples) {
    if (sample.retransmitted_packets.value_or(0) > 0) {
      break;
    }
    least_us = lesser_rtt_us(least_us, sample.min_rtt_us.value_or(0));
  }
  return static_cast<double>(least_us);
}

bool is_queued(double rtt_us, double unloaded_us) {
  constexpr double kUsPerMs = 1000;
  return math::has_queue(rtt_us / kUsPerMs, unloaded_us / kUsPerMs, math::kMomentQueueFactor);
}

struct RoundTrips {
  double packets_us = 0;  // of what one end sent, at its own tap: behind the host's queue, and each
                          // packet by itself
  double sure_us = 0;     // by its kernel, whose minimum includes the handshake
  double unsure_us = 0;   // likewise, where an acknowledgement may be for another copy of a packet
};

RoundTrips round_trips_of(const FlowData* flow, std::size_t side) {
  if (flow == nullptr) {
    return {};
  }
  const std::vector<double> of_packets = known_of(flow->packets.at(side), &FlowSample::min_rtt_us);
  if (flow->sockets[0].empty() && flow->sockets[1].empty()) {
    return {.packets_us = math::quantile(of_packets, kFloorQuantile).value_or(0),
            .sure_us = sure_rtt_us(flow->packets.at(side))};
  }
  return {.packets_us = math::quantile(of_packets, kFloorQuantile).value_or(0),
          .sure_us = static_cast<double>(sure_rtt_us(flow->sockets.at(side))),
          .unsure_us = static_cast<double>(least_rtt_us(flow->sockets.at(side)))};
}

// By the sender's packets, else by its kernel. But a queue may last for the whole run, in either
// direction and in either host: where another place of measurement saw so much less that there must
// be such a queue, the smaller value is taken.
double unloaded_rtt_us(const DirectionView& view) {
  const RoundTrips there = round_trips_of(view.at_sender, side_of(view));
  const RoundTrips back = round_trips_of(view.at_receiver, 1 - side_of(view));
  double least_us = 0;
  for (const double seen_us : {there.packets_us, there.sure_us, back.packets_us, back.sure_us}) {
    least_us = lesser_rtt_us(least_us, seen_us);
  }
  const double measured_us =
      there.packets_us > 0 ? there.packets_us : lesser_rtt_us(there.unsure_us, back.unsure_us);
  return measured_us == 0 || is_queued(measured_us, least_us) ? least_us : measured_us;
}

// Of a capture: of any connection between the two hosts, also of what is not the job's, whose first
// packets may have passed before there was a queue.
double least_between_us(const RunData& run, const DirectionView& view) {
  const NodeData& node = run.nodes[view.best_node()];
  double least_us = 0;
  for (const FlowData& flow : node.is_capture ? node.flows : std::vector<FlowData>()) {
    const record::Flow& own = view.best().row;
    const bool is_same = flow.row.a_address == own.a_address && flow.row.b_address == own.b_address;
    const bool is_turned =
        flow.row.a_address == own.b_address && flow.row.b_address == own.a_address;
    if (is_same || is_turned) {
      const auto from = static_cast<std::size_t>(flow.row.local_end.value_or(0));
      least_us = lesser_rtt_us(least_us, sure_rtt_us(flow.packets.at(from)));
    }
  }
  return least_us;
}

// By arrivals, since data have the link's rate only after the link.
bool is_steady(const DirectionView& view) {
  const FlowData& seen = view.at_receiver != nullptr ? *view.at_receiver : view.best();
  const std::vector<double> bins =
      known_of(seen.packets.at(side_of(view)), &FlowSample::payload_bytes);
  const auto usual = math::median(bins);
  return usual && *usual > kMinSteadyBins * *math::quantile(bins, 0.95);
}

// The sender's readings while something was under way.
std::vector<const SocketSample*> busy_readings(const DirectionView& view) {
  std::vector<const SocketSample*> busy;
  if (view.at_sender != nullptr) {
    for (const SocketSample& sample : view.at_sender->sockets.at(side_of(view))) {
      if (sample.unacked_packets.value_or(0) > 0) {
        busy.push_back(&sample);
      }
    }
  }
  return busy;
}

// Whether all that left by the sender's interface, the job's and what is not, did so at one rate
// while this direction had something under way.
bool is_line_steady(const RunData& run, const DirectionView& view,
                    const std::vector<const SocketSample*>& busy) {
  const SeriesData* sent = view.sender ? run.nodes[*view.sender].find(record::kNicSentBytes,
                                                                      view.at_sender->row.interface)
                                       : nullptr;
  std::vector<double> rates;
  auto reading = busy.begin();
  for (std::size_t place = 1; sent != nullptr && place < sent->readings.size(); ++place) {
    const Reading& before = sent->readings[place - 1];
    const Reading& now = sent->readings[place];
    while (reading != busy.end() && (*reading)->t_ns <= before.t_ns) {
      ++reading;
    }
    const bool is_busy = reading != busy.end() && (*reading)->t_ns <= now.t_ns;
    if (is_busy && now.t_ns > before.t_ns) {
      rates.push_back((now.value - before.value) / static_cast<double>(now.t_ns - before.t_ns));
    }
  }
  const auto usual = math::median(rates);
  return rates.size() >= kMinReadings && *usual > kMinSteadyLine * *math::quantile(rates, 0.95);
}

double usual_rtt_us(const std::vector<const SocketSample*>& busy) {
  std::vector<double> rtts;
  for (const SocketSample* sample : busy) {
    if (sample->rtt_us.known()) {
      rtts.push_back(figure(sample->rtt_us));
    }
  }
  return math::median(rtts).value_or(0);
}

bool is_crowded(const NodeData& node) { return core_wait_share(node) > kMinCrowdedShare; }

// What leaves a queue does so at the link's rate: a round trip is as long as what is in flight
// takes at the rate of the fullest bins. An acknowledgement that waits for a processor is late
// whatever is in flight. The least quarter of the rates, since the most in flight is that of one
// moment of a bin.
bool leaves_at_one_rate(std::span<const double> of_queues, std::span<const double> of_bins) {
  const auto queue = math::quantile(of_queues, 0.25);
  const auto bin = math::quantile(of_bins, 0.95);
  return queue && bin && std::abs(*queue - *bin) < kMaxRateSpread * *bin;
}

bool is_late_by_host(const RunData& run, const DirectionView& view, const DirectionFacts& facts) {
  const bool is_near_crowd = (view.sender && is_crowded(run.nodes[*view.sender])) ||
                             (view.receiver && is_crowded(run.nodes[*view.receiver]));
  if (!is_near_crowd || view.at_sender == nullptr) {
    return false;
  }
  std::vector<double> of_bins;    // bytes a microsecond
  std::vector<double> of_queues;  // likewise
  for (const FlowSample& sample : view.at_sender->packets.at(side_of(view))) {
    if (sample.rtt_us.known() && figure(sample.payload_bytes) > kMinPassingBytes) {
      of_bins.push_back(figure(sample.payload_bytes) * 1e3 /
                        static_cast<double>(std::max<std::int64_t>(sample.bin_ns, 1)));
      if (is_queued(figure(sample.rtt_us), facts.min_rtt_us)) {
        of_queues.push_back(figure(sample.max_in_flight_bytes) / figure(sample.rtt_us));
      }
    }
  }
  const auto moments = static_cast<double>(of_bins.size());
  const auto queued = static_cast<double>(of_queues.size());
  const bool is_link =
      queued >= kMinQueuedShare * moments ||
      (queued >= kMinQueuedShareAtOneRate * moments && leaves_at_one_rate(of_queues, of_bins));
  return moments > 0 && !is_link;
}

// A receiver need not acknowledge one or two packets at once if none follow: its delay of 40 ms and
// more (TCP_DELACK_MIN, include/net/tcp.h) enters the kernel's average now and then, and makes the
// deviation larger than the mean. With a lasting queue all round trips are long: there the
// deviation was a third of the mean.
bool is_rtt_reliable(const SocketSample& sample) {
  return figure(sample.unacked_packets) > kDelayedAckPackets || has_backlog(sample) ||
         figure(sample.rtt_variance_us) < kMaxRttDeviation * figure(sample.rtt_us);
}

bool has_queue_mostly(const std::vector<const SocketSample*>& busy, const DirectionFacts& facts) {
  double reliable = 0;
  double queued = 0;
  for (const SocketSample* sample : busy) {
    if (is_rtt_reliable(*sample)) {
      ++reliable;
      queued += has_queue(figure(sample->rtt_us), facts) ? 1 : 0;
    }
  }
  return queued > kMinShareOfReadings * reliable;
}

bool has_backlog_mostly(const std::vector<const SocketSample*>& busy) {
  const auto waiting =
      std::ranges::count_if(busy, [](const SocketSample* sample) { return has_backlog(*sample); });
  return static_cast<double>(waiting) > kMinShareOfReadings * static_cast<double>(busy.size());
}

// Of the congestion window while something was under way.
double mean_window_packets(const std::vector<const SocketSample*>& busy) {
  double sum = 0;
  double count = 0;
  for (const SocketSample* sample : busy) {
    sum += figure(sample->cwnd_packets);
    count += sample->cwnd_packets.known() ? 1 : 0;
  }
  return count > 0 ? sum / count : 0;
}

// By how many packets the congestion window fell, by what went before.
struct WindowFalls {
  double after_loss = 0;
  double after_pause = 0;
  int losses = 0;
};

// The kernel makes the window smaller when packets were lost, within a round trip or two, and when
// a connection that was idle goes on.
WindowFalls window_falls(const DirectionView& view) {
  WindowFalls falls;
  if (view.at_sender == nullptr) {
    return falls;
  }
  std::int64_t lost_ns = std::numeric_limits<std::int64_t>::min() / 2;
  const auto& samples = view.at_sender->sockets.at(side_of(view));
  for (std::size_t place = 1; place < samples.size(); ++place) {
    const SocketSample& before = samples[place - 1];
    const SocketSample& now = samples[place];
    if (now.congestion_state.value_or(0) >= kRecovery ||
        figure(now.retransmits) > figure(before.retransmits)) {
      lost_ns = now.t_ns;
    }
    const double fallen = figure(before.cwnd_packets) - figure(now.cwnd_packets);
    if (!now.cwnd_packets.known() || fallen <= 0) {
      continue;
    }
    if (now.t_ns - lost_ns <= kMaxFallAfterLossNs) {
      falls.after_loss += fallen;
      ++falls.losses;
    } else if (figure(before.unacked_packets) == 0) {
      falls.after_pause += fallen;
    }
  }
  return falls;
}

bool is_shrunk_by_loss(const DirectionView& view) {
  const WindowFalls falls = window_falls(view);
  return falls.losses >= kMinFallsByLoss && falls.after_loss > falls.after_pause;
}

double lost_of(const DirectionFacts& facts) {
  return std::max(0.0, facts.retransmitted - facts.needless);
}

// On a long path even a small share of lost packets keeps the window from growing.
bool is_lossy(const std::vector<const SocketSample*>& busy, const DirectionFacts& facts) {
  return facts.packets > 0 &&
         (lost_of(facts) > kMinLossShare * facts.packets ||
          lost_of(facts) * mean_window_packets(busy) > kMinLostPerWindow * facts.packets);
}

// Whether the node's congestion control slows down because of loss, not because of delay or rate.
bool slows_by_loss(const NodeData& node) {
  return std::ranges::any_of(node.facts, [](const record::Fact& fact) {
    return fact.key == "net.ipv4.tcp_congestion_control" &&
           (fact.value == "cubic" || fact.value == "reno");
  });
}

bool is_policed(const RunData& run, const DirectionView& view, const DirectionFacts& facts) {
  return view.sender && lost_of(facts) > kMinPolicedLossShare * facts.packets &&
         slows_by_loss(run.nodes[*view.sender]);
}

}  // namespace

bool has_queue(double rtt_us, const DirectionFacts& facts) {
  return is_queued(rtt_us, facts.min_rtt_us);
}

bool has_backlog(const SocketSample& sample) {
  return figure(sample.unsent_bytes) > figure(sample.mss_bytes);
}

std::vector<DirectionView> directions_of(const RunData& run) {
  std::vector<DirectionView> views;
  for (std::size_t place = 0; place < run.connections.size(); ++place) {
    const Connection& connection = run.connections[place];
    for (const std::size_t from : {0U, 1U}) {
      DirectionView view{.connection = place, .direction = record::Direction(from)};
      const auto is_seen = [&](const std::optional<FlowPlace>& end) {
        return end && !run.nodes[end->node].is_inferred;
      };
      if (const auto& end = connection.ends[from]; is_seen(end)) {
        view.sender = end->node;
        view.at_sender = &run.flow(*end);
      }
      if (const auto& end = connection.ends[1 - from]; is_seen(end)) {
        view.receiver = end->node;
        view.at_receiver = &run.flow(*end);
      }
      if (view.sender || view.receiver) {
        views.push_back(view);
      }
    }
  }
  return views;
}

DirectionFacts facts_of(const RunData& run, const DirectionView& view) {
  DirectionFacts facts;
  for (const FlowData* flow : {view.at_sender, view.at_receiver}) {
    if (flow != nullptr) {
      const auto& total = flow->totals[side_of(view)];
      const auto most = [](double& figure, record::Figure value) {
        figure = std::max(figure, static_cast<double>(value.value_or(0)));
      };
      most(facts.bytes, total.payload_bytes);
      most(facts.packets, total.packets);
      most(facts.retransmitted, total.retransmitted_packets);
      most(facts.needless, total.spurious_retransmissions);
    }
  }
  const std::vector<const SocketSample*> busy = busy_readings(view);
  facts.min_rtt_us = unloaded_rtt_us(view);
  if (const double least_us = least_between_us(run, view);
      least_us > 0 && is_queued(facts.min_rtt_us, least_us)) {
    facts.min_rtt_us = least_us;
  }
  facts.usual_rtt_us = usual_rtt_us(busy);
  if (busy.empty()) {
    // Of what was captured at the receiver only its answers travelled the whole path.
    const FlowData& seen = view.best();
    const std::size_t side = view.at_sender != nullptr ? side_of(view) : 1 - side_of(view);
    facts.usual_rtt_us =
        math::median(known_of(seen.packets.at(side), &FlowSample::rtt_us)).value_or(0);
  }
  facts.is_late_by_host = is_late_by_host(run, view, facts);
  facts.is_lossy = is_lossy(busy, facts);
  facts.is_policed = is_policed(run, view, facts);
  facts.is_shrunk_by_loss = is_shrunk_by_loss(view);
  facts.has_queue_mostly = has_queue_mostly(busy, facts);
  facts.has_backlog_mostly = has_backlog_mostly(busy);
  facts.is_steady = is_steady(view) || is_line_steady(run, view, busy);
  if (view.sender) {
    facts.send_buffer_bytes = send_buffer_of(run.nodes[*view.sender]);
  }
  return facts;
}

const char* name_of(Limit limit) {
  static constexpr std::array kNames{
      "link full",         "loss",           "receive window", "send buffer",
      "congestion window", "library credit", "round trip"};
  return kNames.at(static_cast<std::size_t>(limit));
}

double LimitTimes::sum() const { return std::reduce(ns.begin(), ns.end()); }

LimitTimes& LimitTimes::operator+=(const LimitTimes& other) {
  std::ranges::transform(ns, other.ns, ns.begin(), std::plus{});
  return *this;
}

LimitTimes LimitTimes::operator*(double factor) const {
  LimitTimes scaled = *this;
  for (double& time : scaled.ns) {
    time *= factor;
  }
  return scaled;
}

}  // namespace chokepoint::analysis
