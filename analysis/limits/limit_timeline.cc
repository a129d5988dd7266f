#include "analysis/limits/limit_timeline.h"

#include <algorithm>
#include <map>

#include "analysis/limits/arrivals.h"
#include "analysis/limits/exchanging.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {
namespace {

using record::SocketSample;

// In flight, of packets of 1500 bytes.
constexpr double kDelayedAckBytes = 1500 * kDelayedAckPackets;

Limit limit_of(const record::FlowSample& sample, const DirectionFacts& facts) {
  const double in_flight = figure(sample.max_in_flight_bytes);
  if (facts.is_lossy && !facts.is_at_one_rate && figure(sample.retransmitted_packets) > 0) {
    return Limit::Loss;
  }
  if (sample.rtt_us.known() && has_queue(figure(sample.rtt_us), facts) &&
      (in_flight > kDelayedAckBytes || !sample.max_in_flight_bytes.known())) {
    return Limit::LinkFull;
  }
  if (figure(sample.retransmitted_packets) > 0) {
    return Limit::Loss;
  }
  if (figure(sample.window_full) > 0 ||
      (sample.window_bytes.known() &&
       in_flight > kMinReceiveWindowUsed * figure(sample.window_bytes))) {
    return Limit::ReceiveWindow;
  }
  // Packets are seen behind the host's own queue, in which the others may wait.
  if (facts.is_at_one_rate) {
    return Limit::LinkFull;
  }
  // The congestion window is not in packets: where many are lost it is small after each loss.
  if (facts.is_lossy && figure(sample.payload_bytes) > kDelayedAckBytes) {
    return Limit::Loss;
  }
  return in_flight > kBulkBytes ? Limit::LibraryCredit : Limit::RoundTrip;
}

// Packets at the receiver show no queue before it; those of the other direction do, whose answers
// wait in it. Where data come, an answer comes with them, however little was under way; where some
// of them are lost, it waits for these as well.
std::vector<record::FlowSample> with_round_trips(const FlowData& flow, std::size_t side,
                                                 bool is_lossy) {
  constexpr std::int64_t kMaxApartNs = 100'000'000;
  std::vector<record::FlowSample> samples = flow.packets.at(side);
  const std::vector<record::FlowSample>& back = flow.packets.at(1 - side);
  if (std::ranges::none_of(back, [](const auto& sample) { return sample.rtt_us.known(); })) {
    return samples;
  }
  auto next = back.begin();
  const record::FlowSample* newest = nullptr;
  for (record::FlowSample& sample : samples) {
    for (; next != back.end() && next->t_ns <= sample.t_ns + sample.bin_ns; ++next) {
      newest = next->rtt_us.known() ? &*next : newest;
    }
    const bool is_near = newest != nullptr && sample.t_ns - newest->t_ns <= kMaxApartNs;
    const bool comes_with_data = !is_lossy && figure(sample.payload_bytes) > kDelayedAckBytes;
    const bool is_little = is_near && figure(newest->max_in_flight_bytes) <= kDelayedAckBytes;
    sample.rtt_us = is_near ? newest->rtt_us : record::Figure();
    sample.min_rtt_us = is_near ? newest->min_rtt_us : record::Figure();
    sample.max_in_flight_bytes =
        is_near && !(is_little && comes_with_data) ? newest->max_in_flight_bytes : record::Figure();
  }
  return samples;
}

bool has_queue(const SocketSample& now, const DirectionFacts& facts) {
  return has_queue(figure(now.rtt_us), facts);
}

bool is_losing(const SocketSample& before, const SocketSample& now) {
  return now.congestion_state.value_or(0) >= kRecovery || figure(now.lost_packets) > 0 ||
         figure(now.retransmits) > figure(before.retransmits);
}

// Whether packets are lost because the queue before the link is full.
bool is_full(const DirectionFacts& facts) {
  return !facts.is_policed && (facts.is_at_one_rate || (facts.has_queue_mostly && facts.is_steady));
}

// The window is as small as a queue lets it grow that overflows, and that is too short to show.
bool is_cut_by_queue(const DirectionFacts& facts) {
  return facts.is_shrunk_by_loss && facts.is_at_one_rate && !facts.is_policed;
}

// The receiver announces less than the sender has, and most of that is under way. Half of it is
// enough: a sender waits until half of the window is free rather than send small segments (RFC
// 9293, 3.8.6.2.1).
bool is_held_by_receiver(const SocketSample& now, const DirectionFacts& facts) {
  constexpr double kMinWindowUsed = 0.5;  // of the announced window
  const double window = figure(now.send_window_bytes);
  const double in_flight = figure(now.unacked_packets) * figure(now.mss_bytes);
  return now.send_window_bytes.known() && window < kBulkBytes && !facts.has_queue_mostly &&
         in_flight + figure(now.unsent_bytes) > window && in_flight >= kMinWindowUsed * window;
}

bool fills_window(const SocketSample& now) {
  return figure(now.unacked_packets) >= kMinCongestionWindowUsed * figure(now.cwnd_packets);
}

// More waits in the sender's queue than the window lets out.
Limit limit_with_backlog(const SocketSample& now, const DirectionFacts& facts) {
  const bool is_window_full = fills_window(now);
  if (is_window_full && facts.is_lossy && !is_full(facts)) {
    return Limit::Loss;
  }
  // Without a queue that shows, the sender paces to the path's rate, which is steady then, and has
  // more to send most of the time. Where round trips are long it may also be slow to find that rate
  // again after each pause.
  if (!is_window_full && is_held_by_receiver(now, facts)) {
    return Limit::ReceiveWindow;
  }
  const bool is_at_rate = facts.is_steady && facts.has_backlog_mostly;
  const bool is_finding_rate = !is_at_rate && facts.min_rtt_us > kMinLongRoundTripUs;
  if (has_queue(now, facts) || (!is_window_full && !is_finding_rate) || is_cut_by_queue(facts)) {
    return Limit::LinkFull;
  }
  return facts.is_shrunk_by_loss ? Limit::Loss : Limit::CongestionWindow;
}

// For a moment when all that the sender has is under way.
Limit limit_in_flight(const SocketSample& now, const DirectionFacts& facts) {
  const double queued =
      std::max(figure(now.send_queue_bytes), figure(now.unacked_packets) * figure(now.mss_bytes));
  const bool is_queue_full = is_full(facts) && has_queue(now, facts);
  if (!is_queue_full && facts.send_buffer_bytes &&
      queued > kMinBufferUsed * *facts.send_buffer_bytes && queued < 2 * *facts.send_buffer_bytes) {
    return Limit::SendBuffer;
  }
  if (is_cut_by_queue(facts) && fills_window(now)) {
    return Limit::LinkFull;
  }
  if (facts.is_shrunk_by_loss && facts.is_lossy && !is_queue_full && fills_window(now)) {
    return Limit::Loss;  // the rest of what went window by window
  }
  if (queued <= kBulkBytes && !facts.has_queue_mostly) {
    return Limit::RoundTrip;  // any queue is not its own
  }
  if (has_queue(now, facts)) {
    return Limit::LinkFull;
  }
  return queued > kBulkBytes ? Limit::LibraryCredit : Limit::RoundTrip;
}

// `stalled_ns`: for how long nothing has come through.
Limit limit_of_network(const SocketSample& before, const SocketSample& now, double stalled_ns,
                       const DirectionFacts& facts) {
  if (stalled_ns > static_cast<double>(kStallNs)) {
    return Limit::Loss;
  }
  if (is_losing(before, now) && facts.is_lossy) {
    return is_full(facts) ? Limit::LinkFull : Limit::Loss;
  }
  return has_backlog(now) ? limit_with_backlog(now, facts) : limit_in_flight(now, facts);
}

// If the kernel does not count acknowledged bytes, the connection counts as moving.
bool has_moved(const SocketSample& before, const SocketSample& now) {
  return !now.bytes_acked.known() || figure(now.bytes_acked) > figure(before.bytes_acked);
}

// Whether data came through before the retransmission timer ran out; else the path carried nothing
// for a while. 200 ms: the kernel's minimum (TCP_RTO_MIN, include/net/tcp.h).
bool has_come_in_time(const SocketSample& last, const SocketSample& now) {
  constexpr double kMinTimeoutUs = 200'000;
  const double timeout_us = last.timeout_us.known() ? figure(last.timeout_us) : kMinTimeoutUs;
  return now.retransmits.known() && figure(now.retransmits) == figure(last.retransmits) &&
         static_cast<double>(now.t_ns - last.t_ns) <= 1e3 * timeout_us;
}

// For how long, at each reading, nothing had come through although something was under way, because
// it was lost. Data that came through in time were only slow.
std::vector<std::int64_t> stalls_of(const std::vector<SocketSample>& samples) {
  std::vector<std::int64_t> stalled_ns(samples.size(), 0);
  std::size_t moved = 0;  // when something came through last
  for (std::size_t place = 1; place < samples.size(); ++place) {
    const SocketSample& last = samples[moved];
    const SocketSample& now = samples[place];
    const bool moves = has_moved(last, now);
    // Readings may be rare: when in a span something came through is not known.
    stalled_ns[place] = (moves ? samples[place - 1] : now).t_ns - last.t_ns;
    const bool is_idle = figure(now.unacked_packets) == 0 && figure(now.unsent_bytes) == 0;
    if (moves && has_come_in_time(last, now)) {
      std::fill(stalled_ns.begin() + static_cast<std::ptrdiff_t>(moved) + 1,
                stalled_ns.begin() + static_cast<std::ptrdiff_t>(place) + 1, 0);
    }
    moved = moves || is_idle ? place : moved;
  }
  return stalled_ns;
}

double growth_ns(record::Figure before, record::Figure now) {
  return before.known() && now.known()
             ? std::max(0.0, static_cast<double>(now.value() - before.value()) * 1000)
             : 0;
}

LimitedSpan limited(const SocketSample& before, const SocketSample& now, double stalled_ns,
                    const DirectionFacts& facts) {
  LimitedSpan span{.span = {before.t_ns, now.t_ns}};
  const double busy_ns =
      std::min(growth_ns(before.busy_us, now.busy_us), static_cast<double>(span.span.length_ns()));
  const double window_ns =
      std::min(growth_ns(before.receive_window_limited_us, now.receive_window_limited_us), busy_ns);
  const double buffer_ns = std::min(
      growth_ns(before.send_buffer_limited_us, now.send_buffer_limited_us), busy_ns - window_ns);
  span.times[Limit::ReceiveWindow] = window_ns;
  // With a queue that stands before a line at its rate a larger buffer would only fill the queue.
  const bool is_queue_full = is_full(facts) && has_queue(now, facts);
  span.times[is_queue_full ? Limit::LinkFull : Limit::SendBuffer] += buffer_ns;
  span.times[limit_of_network(before, now, stalled_ns, facts)] += busy_ns - window_ns - buffer_ns;
  return span;
}

std::vector<LimitedSpan> limits_of(const DirectionView& view, const DirectionFacts& facts) {
  const auto side = side_of(view);
  if (view.at_sender != nullptr && view.at_sender->sockets.at(side).size() > 1) {
    return limits_of_sender(view.at_sender->sockets.at(side), facts);
  }
  if (view.at_sender == nullptr && view.at_receiver->sockets[0].empty() &&
      view.at_receiver->sockets[1].empty()) {
    return limits_of_packets(with_round_trips(*view.at_receiver, side, facts.is_lossy), facts);
  }
  return limits_of_packets(view.best().packets.at(side), facts);
}

// By their numbers: cells of one width on the common clock.
using Cells = std::map<std::int64_t, LimitTimes>;

// Assumes that what was under way was so while the job communicated, as far as that is long enough.
void spread(const LimitedSpan& limited, std::span<const Span> communicating, std::int64_t width_ns,
            Cells& cells) {
  const Span common = limited.span;
  const auto communicated = static_cast<double>(covered_ns(communicating, common));
  const double busy = limited.times.sum();
  if (communicated <= 0 || busy <= 0) {
    return;
  }
  const double density = std::min(1.0, busy / communicated) / busy;
  for (const Span& span : communicating) {
    const Span both{std::max(common.start_ns, span.start_ns), std::min(common.end_ns, span.end_ns)};
    for (std::int64_t cell = both.start_ns / width_ns; cell * width_ns < both.end_ns; ++cell) {
      const auto covered = static_cast<double>(std::min(both.end_ns, (cell + 1) * width_ns) -
                                               std::max(both.start_ns, cell * width_ns));
      cells[cell] += limited.times * (density * covered);
    }
  }
}

// Those of the rest that the span may touch; drops from `rest` what no later span can touch.
std::span<const Span> next_touching(std::span<const Span>& rest, Span part) {
  while (!rest.empty() && rest.front().end_ns <= part.start_ns) {
    rest = rest.subspan(1);
  }
  std::size_t count = 0;
  while (count < rest.size() && rest[count].start_ns < part.end_ns) {
    ++count;
  }
  return rest.first(count);
}

// On the common clock.
std::vector<LimitedSpan> common_limits_of(const DirectionLimits& limit_timeline,
                                          const Clocks& clocks) {
  std::vector<LimitedSpan> all = limits_of(limit_timeline.view, limit_timeline.facts);
  const std::size_t node = limit_timeline.view.best_node();
  for (LimitedSpan& limited : all) {
    limited.span = {clocks.common_ns(node, limited.span.start_ns),
                    clocks.common_ns(node, limited.span.end_ns)};
  }
  return all;
}

// So that the directions together have no more cells than their rows allow.
std::int64_t cell_width_ns(std::span<const std::vector<LimitedSpan>> directions,
                           std::span<const Span> communicating) {
  double communicated_ns = 0;
  double rows = 1;
  for (const std::vector<LimitedSpan>& direction : directions) {
    std::span<const Span> rest = communicating;
    for (const LimitedSpan& limited : direction) {
      communicated_ns +=
          static_cast<double>(covered_ns(next_touching(rest, limited.span), limited.span));
    }
    rows += static_cast<double>(direction.size());
  }
  return std::max(kMinCellNs,
                  static_cast<std::int64_t>(communicated_ns / (kMaxMeanCellsOfRow * rows)));
}

Cells cells_of(std::span<const LimitedSpan> direction, std::span<const Span> communicating,
               std::int64_t width_ns) {
  Cells cells;
  for (const LimitedSpan& limited : direction) {
    spread(limited, next_touching(communicating, limited.span), width_ns, cells);
  }
  return cells;
}

double payload_in(const DirectionView& view, const Clocks& clocks, Span common) {
  const Span span{clocks.local_ns(view.best_node(), common.start_ns),
                  clocks.local_ns(view.best_node(), common.end_ns)};
  double bytes = 0;
  for (const record::FlowSample& sample : view.best().packets.at(side_of(view))) {
    bytes += sample.t_ns > span.start_ns && sample.t_ns <= span.end_ns
                 ? static_cast<double>(sample.payload_bytes.value_or(0))
                 : 0;
  }
  return bytes;
}

// What passed is under way for a round trip, until it is answered; what comes after that began
// anew.
void fill_gap(LimitedSpan& before, std::int64_t next_ns, const DirectionFacts& facts) {
  const std::int64_t gap_ns = next_ns - before.span.end_ns;
  const auto round_trip_ns = static_cast<std::int64_t>(facts.min_rtt_us * 1e3);
  const std::int64_t more_ns = std::min(gap_ns, round_trip_ns);
  if (more_ns > 0) {
    before.times = before.times * (1 + static_cast<double>(more_ns) /
                                           static_cast<double>(before.span.length_ns()));
    before.span.end_ns += more_ns;
  }
}

// Silence that a retransmission ends was waiting for it.
void add_wait(const record::FlowSample& sample, std::int64_t begin_ns,
              std::vector<LimitedSpan>& spans) {
  constexpr std::int64_t kMaxWaitNs = 10'000'000'000;
  const std::int64_t end_ns = spans.back().span.end_ns;
  const bool is_resent = 2 * figure(sample.retransmitted_packets) >= figure(sample.packets) &&
                         figure(sample.retransmitted_packets) > 0;
  if (is_resent && begin_ns > end_ns && begin_ns - end_ns < kMaxWaitNs) {
    LimitedSpan wait{.span = {end_ns, begin_ns}};
    wait.times[Limit::Loss] = static_cast<double>(begin_ns - end_ns);
    spans.push_back(wait);
  }
}

}  // namespace

std::vector<LimitedSpan> limits_of_packets(const std::vector<record::FlowSample>& samples,
                                           const DirectionFacts& facts) {
  DirectionFacts own = facts;
  own.min_rtt_us = lesser_rtt_us(facts.min_rtt_us, static_cast<double>(least_rtt_us(samples)));
  std::vector<LimitedSpan> spans;
  for (const record::FlowSample& sample : samples) {
    if (sample.payload_bytes.value_or(0) > kMinBinBytes) {
      const std::int64_t begin_ns = sample.t_ns - sample.bin_ns;
      if (!spans.empty()) {
        fill_gap(spans.back(), begin_ns, own);
        add_wait(sample, begin_ns, spans);
      }
      LimitedSpan span{.span = {begin_ns, sample.t_ns}};
      span.times[limit_of(sample, own)] = static_cast<double>(sample.bin_ns);
      spans.push_back(span);
    }
  }
  return spans;
}

std::vector<LimitedSpan> limits_of_sender(const std::vector<SocketSample>& samples,
                                          const DirectionFacts& facts) {
  const std::vector<std::int64_t> stalled_ns = stalls_of(samples);
  std::vector<LimitedSpan> spans;
  for (std::size_t place = 1; place < samples.size(); ++place) {
    const LimitedSpan span =
        limited(samples[place - 1], samples[place], static_cast<double>(stalled_ns[place]), facts);
    if (span.times.sum() > 0) {
      spans.push_back(span);
    }
  }
  return spans;
}

LimitTimeline limit_timeline_of(const RunData& run, const Clocks& clocks,
                                std::span<const Span> communicating) {
  LimitTimeline limit_timeline;
  std::vector<std::vector<LimitedSpan>> limits;
  const Arrivals arrivals(run);
  for (const DirectionView& view : directions_of(run)) {
    DirectionFacts facts = facts_of(run, view);
    facts.is_at_one_rate = arrivals.are_at_one_rate(view);
    facts.is_late_by_host = facts.is_late_by_host && !facts.is_at_one_rate;
    limit_timeline.directions.push_back({.view = view, .facts = facts});
    limits.push_back(common_limits_of(limit_timeline.directions.back(), clocks));
  }
  const std::int64_t width_ns = cell_width_ns(limits, communicating);
  std::map<std::int64_t, std::pair<double, std::size_t>> busiest;
  std::vector<Cells> cells;
  const Exchanging exchanging(run);
  for (DirectionLimits& direction : limit_timeline.directions) {
    const DirectionView& view = direction.view;
    cells.push_back(cells_of(limits[cells.size()], communicating, width_ns));
    for (const auto& [cell, times] : cells.back()) {
      direction.busy += times;
      if (!exchanging.includes(run.connections[view.connection])) {
        continue;
      }
      auto& most = busiest[cell];
      most = std::max(most, {times.sum(), cells.size() - 1});
    }
    if (direction.busy.sum() > 0) {
      const Span whole{communicating.front().start_ns, communicating.back().end_ns};
      direction.rate_mbps = payload_in(view, clocks, whole) * 8e3 / direction.busy.sum();
    }
  }
  double held_ns = 0;
  for (const auto& [cell, most] : busiest) {
    const LimitTimes& times = cells[most.second][cell];
    limit_timeline.directions[most.second].held += times;
    limit_timeline.moments.push_back(
        {{cell * width_ns, (cell + 1) * width_ns}, most.second, times});
    held_ns += most.first;
  }
  limit_timeline.idle_ns = std::max(0.0, static_cast<double>(length_ns(communicating)) - held_ns);
  return limit_timeline;
}

}  // namespace chokepoint::analysis
