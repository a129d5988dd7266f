#include "probe/tcp/outcome.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::probe::tcp {
namespace {

double mbps(std::uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) * 8 / seconds / 1e6 : 0;
}

const StreamMeasure* find(const Half& half, Role role, int index) {
  const auto at = std::ranges::find_if(half.streams, [&](const StreamMeasure& each) {
    return each.role == role && each.index == index;
  });
  return at == half.streams.end() ? nullptr : &*at;
}

template <class T>
void add(std::optional<T>& sum, const std::optional<T>& value) {
  if (value) {
    sum = sum.value_or(T{}) + *value;
  }
}

// The streams' distributions as one: exact in min, max, mean and count, weighted between.
class Merged {
 public:
  void add(const math::Distribution& one) {
    if (one.count == 0) {
      return;
    }
    const auto weight = static_cast<double>(one.count);
    const auto before = static_cast<double>(sum_.count);
    const auto mixed = [&](double old, double more) {
      return (old * before + more * weight) / (before + weight);
    };
    sum_.min = sum_.count == 0 ? one.min : std::min(sum_.min, one.min);
    sum_.max = std::max(sum_.max, one.max);
    sum_.p99 = std::max(sum_.p99, one.p99);
    sum_.median = mixed(sum_.median, one.median);
    sum_.mean = mixed(sum_.mean, one.mean);
    sum_.count += one.count;
  }
  const math::Distribution& sum() const { return sum_; }

 private:
  math::Distribution sum_;
};

struct Window {
  double start_s = 0;
  double end_s = 0;
};

Window window_of(const std::vector<StreamOutcome>& streams) {
  Window window{.start_s = streams.empty() ? 0 : streams.front().receiver.start_s};
  for (const StreamOutcome& stream : streams) {
    window.start_s = std::min(window.start_s, stream.receiver.start_s);
    window.end_s = std::max(window.end_s, stream.receiver.end_s);
  }
  return window;
}

// Of a test so short that it arrived at once the sender's clock says more.
double duration_of(const std::vector<StreamOutcome>& streams) {
  const Window window = window_of(streams);
  const double seen = window.end_s - window.start_s;
  constexpr double kTooShort = 1e-4;
  return seen > kTooShort ? seen : window.end_s;
}

std::optional<Shares> shares_of(const std::vector<StreamOutcome>& streams) {
  double wall = 0;
  double busy = 0;
  double starved = 0;
  Shares time;
  for (const StreamOutcome& stream : streams) {
    const auto& chrono = stream.sender.chrono;
    if (!chrono || stream.sender.chrono_us <= 0) {
      return std::nullopt;
    }
    // Its stopwatch ticks in jiffies, so it may run ahead of ours a little.
    wall += static_cast<double>(std::max(stream.sender.chrono_us, chrono->busy_us));
    busy += static_cast<double>(chrono->busy_us);
    time.receive_window += static_cast<double>(chrono->receive_window_us);
    time.send_buffer += static_cast<double>(chrono->send_buffer_us);
    starved += static_cast<double>(chrono->busy_us) * stream.sender.starved_share;
  }
  if (wall <= 0) {
    return std::nullopt;
  }
  // The kernel books most of a send buffer that is too small under the network (seen on 6.18): its
  // stopwatch starts only in the moment in which the last byte leaves.
  time.send_buffer = std::max(time.send_buffer, starved - time.receive_window);
  const double network = std::max(busy - time.receive_window - time.send_buffer, 0.0);
  return Shares{.application = (wall - busy) / wall,
                .receive_window = time.receive_window / wall,
                .send_buffer = time.send_buffer / wall,
                .network = network / wall};
}

const IntervalMeasure* overlapping(const Half& half, Role role, double middle_s) {
  const auto at = std::ranges::find_if(half.intervals, [&](const IntervalMeasure& each) {
    return each.role == role && each.start_s <= middle_s && middle_s < each.end_s;
  });
  return at == half.intervals.end() ? nullptr : &*at;
}

// Bytes from the receiver, the state of the connection from the sender at the same time.
std::vector<Interval> intervals_of(const Half& sender, const Half& receiver, double omit_s) {
  std::vector<Interval> intervals;
  for (const IntervalMeasure& each : receiver.intervals) {
    if (each.role != Role::Receive || each.end_s <= omit_s) {
      continue;
    }
    Interval interval{.start_s = each.start_s,
                      .end_s = each.end_s,
                      .bytes = each.bytes,
                      .throughput_mbps = mbps(each.bytes, each.end_s - each.start_s)};
    if (const auto* other = overlapping(sender, Role::Send, (each.start_s + each.end_s) / 2)) {
      interval.retransmits = other->retransmits;
      interval.cwnd_bytes = other->cwnd_bytes;
      interval.rtt_ms = other->rtt_ms;
    }
    intervals.push_back(interval);
  }
  return intervals;
}

// Of whole intervals: a short rest at the end says little.
double peak_of(const std::vector<Interval>& intervals, double interval_s, double average) {
  double peak = 0;
  for (const Interval& each : intervals) {
    if (each.end_s - each.start_s > interval_s / 2) {
      peak = std::max(peak, each.throughput_mbps);
    }
  }
  return std::max(peak, average);
}

void add_streams(Outcome& outcome, const Half& sender, const Half& receiver) {
  for (const StreamMeasure& received : receiver.streams) {
    const StreamMeasure* sent = find(sender, Role::Send, received.index);
    if (received.role == Role::Receive && sent != nullptr) {
      outcome.streams.push_back(
          {.sender = *sent,
           .receiver = received,
           .throughput_mbps = mbps(received.bytes, received.end_s - received.start_s)});
    }
  }
}

void add_up(Outcome& outcome) {
  Merged sender_rtt;
  Merged receiver_rtt;
  for (const StreamOutcome& stream : outcome.streams) {
    outcome.bytes += stream.receiver.bytes;
    outcome.sent_bytes += stream.sender.total_bytes;
    outcome.received_bytes += stream.receiver.total_bytes;
    add(outcome.retransmits, stream.sender.retransmits);
    add(outcome.max_cwnd_bytes, stream.sender.max_cwnd_bytes);
    outcome.max_send_window_bytes =
        std::max(outcome.max_send_window_bytes, stream.sender.send_window_bytes);
    sender_rtt.add(stream.sender.rtt_ms);
    receiver_rtt.add(stream.receiver.rtt_ms);
    const auto& least = stream.sender.min_rtt_ms;
    if (least && (!outcome.min_rtt_ms || *least < *outcome.min_rtt_ms)) {
      outcome.min_rtt_ms = least;
    }
  }
  outcome.rtt_ms = sender_rtt.sum();
  outcome.receiver_rtt_ms = receiver_rtt.sum();
}

}  // namespace

Outcome outcome_of(const Trial& trial, Direction direction) {
  const bool sends = direction == Direction::Send;
  const Half& sender = sends ? trial.client : trial.server;
  const Half& receiver = sends ? trial.server : trial.client;
  Outcome outcome{
      .direction = direction, .sender_host = sender.host, .receiver_host = receiver.host};
  add_streams(outcome, sender, receiver);
  add_up(outcome);
  outcome.duration_s = duration_of(outcome.streams);
  outcome.throughput_mbps = mbps(outcome.bytes, outcome.duration_s);
  outcome.limited_by = shares_of(outcome.streams);
  const double omit_s = std::chrono::duration<double>(trial.parameters.omit).count();
  const double interval_s = std::chrono::duration<double>(trial.parameters.interval).count();
  outcome.intervals = intervals_of(sender, receiver, omit_s);
  outcome.peak_mbps = peak_of(outcome.intervals, interval_s, outcome.throughput_mbps);
  if (!outcome.streams.empty()) {
    outcome.congestion_control = outcome.streams.front().sender.congestion;
    outcome.mss_bytes = outcome.streams.front().sender.mss_bytes;
  }
  return outcome;
}

}  // namespace chokepoint::probe::tcp
