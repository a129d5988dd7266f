#include "probe/tcp/stream_watch.h"

#include <algorithm>
#include <system_error>

#include "base/net/socket.h"

namespace chokepoint::probe::tcp {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;

math::Distribution in_milliseconds(math::Distribution ns) {
  for (double* value : {&ns.min, &ns.median, &ns.p99, &ns.max, &ns.mean}) {
    *value /= kNanosecondsPerMillisecond;
  }
  return ns;
}

net::TcpChrono difference(const net::TcpChrono& after, const net::TcpChrono& before) {
  return {.busy_us = after.busy_us - before.busy_us,
          .receive_window_us = after.receive_window_us - before.receive_window_us,
          .send_buffer_us = after.send_buffer_us - before.send_buffer_us};
}

}  // namespace

StreamWatch::StreamWatch(const Stream& stream, std::int64_t begun_ns, std::int64_t omit_ns)
    : stream_(stream), begun_ns_(begun_ns), omit_until_ns_(begun_ns + omit_ns) {
  if (omit_ns == 0) {
    begin_measuring(begun_ns);
  }
}

void StreamWatch::begin_measuring(std::int64_t now_ns) {
  start_ns_ = now_ns;
  bytes_before_ = stream_.counters().bytes;
  info_before_ = net::read_tcp_info(stream_.descriptor()).value_or(net::TcpInfo{});
  // What was sent again before that was omitted with the rest.
  retransmits_reported_ = info_before_->retransmits;
  note(*info_before_, now_ns);
}

void StreamWatch::note(const net::TcpInfo& info, std::int64_t now_ns) {
  info_ = info;
  info_ns_ = now_ns;
  max_cwnd_bytes_ = std::max(max_cwnd_bytes_, info.congestion_window_bytes());
  max_send_window_bytes_ =
      std::max(max_send_window_bytes_, std::uint64_t{info.send_window_bytes.value_or(0)});
  if (info.rtt_ms) {
    rtt_ns_->add(static_cast<std::uint64_t>(*info.rtt_ms * kNanosecondsPerMillisecond));
  }
}

void StreamWatch::tick(std::int64_t now_ns) {
  if (!start_ns_ && now_ns >= omit_until_ns_) {
    begin_measuring(now_ns);
  }
  if (!start_ns_ || stream_.counters().data_done_ns != 0) {
    return;
  }
  if (const Result<net::TcpInfo> info = net::read_tcp_info(stream_.descriptor())) {
    note(*info, now_ns);
    ++samples_;
    starved_samples_ += sends() && starved_by_buffer(*info) ? 1 : 0;
  }
}

// Everything is under way, congestion and receive window have room, and the buffer is as full as
// the kernel lets it get: it wakes a writer once a third is free.
bool StreamWatch::starved_by_buffer(const net::TcpInfo& info) const {
  constexpr double kRoom = 0.9;
  constexpr double kFull = 0.6;
  const Result<net::SendMemory> memory = net::read_send_memory(stream_.descriptor());
  const double in_flight = info.in_flight_segments;
  return memory && info.unsent_bytes.value_or(~0U) < info.mss_bytes &&
         in_flight < kRoom * info.congestion_window_segments &&
         in_flight * info.mss_bytes < kRoom * info.send_window_bytes.value_or(0) &&
         memory->queued_bytes > kFull * memory->limit_bytes;
}

StreamWatch::Change StreamWatch::change() {
  const std::uint64_t bytes = stream_.counters().bytes;
  Change change{.bytes = bytes - std::exchange(bytes_reported_, bytes)};
  if (info_) {
    change.rtt_ms = info_->rtt_ms;
  }
  if (info_ && sends()) {
    change.retransmits =
        info_->retransmits - std::exchange(retransmits_reported_, info_->retransmits);
    change.cwnd_bytes = info_->congestion_window_bytes();
  }
  return change;
}

double StreamWatch::seconds(std::int64_t at_ns) const {
  return static_cast<double>(std::max(at_ns - begun_ns_, std::int64_t{0})) / 1e9;
}

StreamMeasure StreamWatch::measure() const {
  const StreamCounters& counters = stream_.counters();
  StreamMeasure measure{.role = stream_.plan().role, .index = stream_.plan().index};
  measure.total_bytes = counters.bytes;
  measure.bytes = start_ns_ ? measure.total_bytes - bytes_before_ : 0;
  const std::int64_t start = std::max(start_ns_.value_or(begun_ns_), counters.first_ns.load());
  const std::int64_t end = std::max(counters.last_ns.load(), start);
  measure.start_s = seconds(start);
  measure.end_s = seconds(end);
  measure.rtt_ms = in_milliseconds(rtt_ns_->distribution());
  measure.congestion = net::congestion_of(stream_.descriptor()).value_or("");
  if (info_) {
    measure.min_rtt_ms = info_->min_rtt_ms;
    measure.mss_bytes = info_->mss_bytes;
  }
  if (info_ && info_before_ && sends()) {
    // What was retransmitted while the rest drained counts as well.
    const net::TcpInfo last = net::read_tcp_info(stream_.descriptor()).value_or(*info_);
    measure.retransmits =
        std::max(last.retransmits, info_->retransmits) - info_before_->retransmits;
    measure.max_cwnd_bytes = max_cwnd_bytes_;
    measure.send_window_bytes = max_send_window_bytes_;
    measure.starved_share =
        samples_ == 0 ? 0 : static_cast<double>(starved_samples_) / static_cast<double>(samples_);
    // Over before the second look at it: the end says what a sample would have said.
    const bool too_short = info_ns_ <= *start_ns_;
    const auto& chrono = too_short ? last.chrono : info_->chrono;
    if (chrono && info_before_->chrono) {
      measure.chrono = difference(*chrono, *info_before_->chrono);
      measure.chrono_us = ((too_short ? end : info_ns_) - *start_ns_) / 1000;
    }
  }
  const std::int64_t until = counters.data_done_ns != 0 ? counters.data_done_ns.load() : end;
  measure.cpu_percent = until > begun_ns_ ? 100.0 * static_cast<double>(counters.cpu_ns) /
                                                static_cast<double>(until - begun_ns_)
                                          : 0;
  const int code = counters.error;
  measure.error = code == 0 ? "" : std::generic_category().message(code);
  return measure;
}

}  // namespace chokepoint::probe::tcp
