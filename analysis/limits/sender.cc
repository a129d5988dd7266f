#include "analysis/limits/sender.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

using record::SocketSample;

constexpr double kCongestionWindowUsed = 0.7;  // of the congestion window is in flight
constexpr double kBufferUsed = 0.75;           // of the send buffer
constexpr double kStallNs = 100e6;     // nothing gets through although something is under way
constexpr std::int64_t kRecovery = 3;  // congestion_state from here on

bool has_queue(const SocketSample& now, const DirectionFacts& facts) {
  return has_queue(figure(now.rtt_us), facts);
}

bool is_losing(const SocketSample& before, const SocketSample& now) {
  return now.congestion_state.value_or(0) >= kRecovery || figure(now.lost_packets) > 0 ||
         figure(now.retransmits) > figure(before.retransmits);
}

// What is lost then is what the queue before the link does not hold.
bool is_full(const DirectionFacts& facts) { return facts.has_queue_mostly && facts.is_steady; }

// More waits in the sender's queue than the window lets out.
Limit limit_with_backlog(const SocketSample& now, const DirectionFacts& facts) {
  const bool fills_window =
      figure(now.unacked_packets) >= kCongestionWindowUsed * figure(now.cwnd_packets);
  if (fills_window && facts.is_lossy && !is_full(facts)) {
    return Limit::Loss;
  }
  if (has_queue(now, facts) || !fills_window) {
    return Limit::LinkFull;  // of queues also the host's own, or it paces to the path's rate
  }
  return Limit::CongestionWindow;
}

// All that the sender has is on its way.
Limit limit_in_flight(const SocketSample& now, const DirectionFacts& facts) {
  const double queued =
      std::max(figure(now.send_queue_bytes), figure(now.unacked_packets) * figure(now.mss_bytes));
  if (facts.send_buffer_bytes && queued > kBufferUsed * *facts.send_buffer_bytes &&
      queued < 2 * *facts.send_buffer_bytes) {
    return Limit::SendBuffer;
  }
  if (queued <= kBulkBytes && !facts.has_queue_mostly) {
    return Limit::RoundTrip;  // what queue there may be is not its own
  }
  if (has_queue(now, facts)) {
    return Limit::LinkFull;
  }
  return queued > kBulkBytes ? Limit::LibraryCredit : Limit::RoundTrip;
}

// `stalled_ns`: for how long nothing has come through.
Limit limit_of_network(const SocketSample& before, const SocketSample& now, double stalled_ns,
                       const DirectionFacts& facts) {
  if (stalled_ns > kStallNs) {
    return Limit::Loss;
  }
  if (is_losing(before, now) && facts.is_lossy) {
    return is_full(facts) ? Limit::LinkFull : Limit::Loss;
  }
  const bool has_backlog = figure(now.unsent_bytes) > figure(now.mss_bytes);
  return has_backlog ? limit_with_backlog(now, facts) : limit_in_flight(now, facts);
}

// A kernel that does not count it is not taken to stand still.
bool has_moved(const SocketSample& before, const SocketSample& now) {
  return !now.bytes_acked.known() || figure(now.bytes_acked) > figure(before.bytes_acked);
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
  span.times[Limit::SendBuffer] = buffer_ns;
  span.times[limit_of_network(before, now, stalled_ns, facts)] += busy_ns - window_ns - buffer_ns;
  return span;
}

}  // namespace

std::vector<LimitedSpan> limits_of_sender(const std::vector<SocketSample>& samples,
                                          const DirectionFacts& facts) {
  std::vector<LimitedSpan> spans;
  std::size_t moved = 0;  // when something came through last
  for (std::size_t place = 1; place < samples.size(); ++place) {
    const SocketSample& before = samples[place - 1];
    const SocketSample& now = samples[place];
    const bool moves = has_moved(samples[moved], now);
    // Readings may be seldom: of a span in which something came through nobody knows when.
    const std::int64_t stalled_ns = (moves ? before : now).t_ns - samples[moved].t_ns;
    const LimitedSpan span = limited(before, now, static_cast<double>(stalled_ns), facts);
    const bool is_idle = figure(now.unacked_packets) == 0 && figure(now.unsent_bytes) == 0;
    moved = moves || is_idle ? place : moved;
    if (span.times.sum() > 0) {
      spans.push_back(span);
    }
  }
  return spans;
}

}  // namespace chokepoint::analysis
