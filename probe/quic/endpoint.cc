#include "probe/quic/endpoint.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/control/limits.h"
#include "base/math/units.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"

namespace chokepoint::probe::quic {
namespace {

// Of one turn, so that neither direction waits for the other.
constexpr int kMaxMessages = 32;
constexpr int kMaxBatches = 8;
// How often a pace that was asked for is looked at, and what may leave at once.
constexpr std::int64_t kPaceStepNs = 1'000'000;
constexpr double kPaceBurstBytes = 64e3;

std::optional<host::CoreTimes> cores_of(const sys::Root& root) {
  Result<host::CoreTimes> cores = host::read_core_times(root);
  return cores ? std::optional(*std::move(cores)) : std::nullopt;
}

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) / math::kNsPerSecond; }

}  // namespace

std::int64_t clock_ns() { return sys::SystemClock().monotonic_ns(); }

const udp::Parameters& flow_of_test() {
  static const udp::Parameters parameters{.direction = control::Direction::Send, .streams = 1};
  return parameters;
}

Endpoint::Endpoint(Socket socket, const Parameters& parameters, Protocol protocol, sys::Root root,
                   const Identity* identity)
    : parameters_(parameters),
      root_(std::move(root)),
      identity_(identity),
      socket_(std::move(socket)),
      tuning_{.congestion = parameters.congestion,
              .window_bytes = parameters.window_bytes,
              .streams = parameters.streams,
              .protocol = protocol} {}

Result<> Endpoint::connect(const Expected& server, const Ticket* ticket) {
  TRY(connection_, Connection::connect(server, socket_.ends(), tuning_, ticket, clock_ns()));
  return {};
}

Result<> Endpoint::accept(Packet first, const Opening& opening) {
  const std::int64_t now = clock_ns();
  TRY(connection_, Connection::accept(*identity_, socket_.ends(), tuning_, first, &opening, now));
  return take(first, 0, now);
}

Result<> Endpoint::take_in(Packet packet) { return take(packet, 0, clock_ns()); }

void Endpoint::disconnect() {
  if (!connection_) {
    return;
  }
  const std::size_t bytes = connection_->close(socket_.room(), clock_ns());
  if (bytes > 0) {
    socket_.add(bytes, 0);
    static_cast<void>(socket_.flush());
  }
  connection_.reset();
}

void Endpoint::Arrivals::note(std::int64_t now_ns) {
  first_ns = first_ns == 0 ? now_ns : first_ns;
  last_ns = now_ns;
}

Result<> Endpoint::take(Packet packet, unsigned ecn, std::int64_t now_ns) {
  const bool may_open = identity_ != nullptr && begun_ns_ == 0 && !is_perf();
  if (may_open && (!connection_ || connection_->is_for_another(packet))) {
    // A packet that opens nothing is a late one of a connection that is gone.
    auto opened = Connection::accept(*identity_, socket_.ends(), tuning_, packet, nullptr, now_ns);
    if (!opened) {
      return opened.error().kind == ErrorKind::Malformed ? Result<>{}
                                                         : std::unexpected(opened.error());
    }
    connection_ = *std::move(opened);
  }
  if (!connection_ || connection_->is_closed()) {
    return {};
  }
  const std::uint64_t received = connection_->received_bytes();
  const std::uint64_t acknowledged = connection_->acknowledged_bytes();
  TRY(connection_->read(packet, ecn, now_ns));
  if (connection_->received_bytes() > received) {
    data_.note(now_ns);
  }
  if (connection_->acknowledged_bytes() > acknowledged) {
    acknowledgements_.note(now_ns);
  }
  return {};
}

Result<> Endpoint::read_all() {
  for (int i = 0; i < kMaxMessages; ++i) {
    const std::int64_t now = clock_ns();
    TRY(const bool arrived,
        socket_.receive([&](Packet packet, unsigned ecn) { return take(packet, ecn, now); }));
    if (!arrived) {
      return {};
    }
    // What came of it is looked at before anything is waited for.
    is_behind_ = begun_ns_ == 0;
  }
  is_behind_ = true;
  return {};
}

Endpoint::Reason Endpoint::reason_of(Wait wait) {
  switch (wait) {
    case Wait::Asked:
      return Reason::Asked;
    case Wait::FlowControl:
      return Reason::FlowControl;
    case Wait::Congestion:
      return Reason::Congestion;
    case Wait::Pacing:
      return Reason::Pacing;
    case Wait::Idle:
      break;
  }
  return Reason::Idle;
}

Result<bool> Endpoint::write_batch() {
  const std::size_t burst = std::max(connection_->burst_bytes(), kMaxPayload);
  const std::int64_t now = clock_ns();
  std::size_t size = 0;
  bool more = true;
  while (size + kMaxPayload <= burst) {
    TRY(const Written written, connection_->write(socket_.room(), now));
    if (written.bytes == 0) {
      reason_ = reason_of(written.wait);
      more = false;
      break;
    }
    size += written.bytes;
    if (!socket_.add(written.bytes, written.ecn)) {
      break;
    }
  }
  connection_->sent(now);
  TRY(const bool sent, socket_.flush());
  if (!sent) {
    reason_ = Reason::SendBuffer;
  }
  return more && sent;
}

Result<> Endpoint::write_all() {
  TRY(const bool sent, socket_.flush());
  if (!sent) {
    reason_ = Reason::SendBuffer;
    return {};
  }
  for (int i = 0; i < kMaxBatches; ++i) {
    TRY(const bool more, write_batch());
    if (!more) {
      return {};
    }
  }
  is_behind_ = true;
  return {};
}

void Endpoint::set_allowance(std::int64_t now_ns) {
  if (parameters_.pace_bits_per_s && begun_ns_ != 0) {
    connection_->allow(static_cast<std::uint64_t>(seconds_of(now_ns - begun_ns_) *
                                                      *parameters_.pace_bits_per_s / math::kBits +
                                                  kPaceBurstBytes));
  }
}

Result<> Endpoint::turn(std::chrono::nanoseconds wait_for, int other) {
  is_behind_ = false;
  TRY(read_all());
  if (connection_ && !connection_->is_closed()) {
    const std::int64_t now = clock_ns();
    set_allowance(now);
    if (connection_->expiry_ns() <= now) {
      TRY(connection_->expire(now));
    }
    TRY(write_all());
  }
  if (!is_behind_) {
    wait(wait_for, other);
  }
  return {};
}

std::int64_t Endpoint::wait_ns(std::chrono::nanoseconds most) const {
  std::int64_t wait = most.count();
  // Once measuring has ended nothing is written any more.
  if (connection_ && !connection_->is_closed() && ended_ns_ == 0) {
    wait = std::min(wait, connection_->expiry_ns() - clock_ns());
    wait = reason_ == Reason::Asked ? std::min(wait, kPaceStepNs) : wait;
  }
  return std::max<std::int64_t>(wait, 0);
}

void Endpoint::wait(std::chrono::nanoseconds most, int other) {
  const bool has_more_to_send = !socket_.is_empty() && ended_ns_ == 0;
  const auto events = static_cast<short>(has_more_to_send ? POLLIN | POLLOUT : POLLIN);
  std::array<pollfd, 2> watched{pollfd{socket_.descriptor(), events, 0}, pollfd{other, POLLIN, 0}};
  const std::int64_t wait = wait_ns(most);
  const timespec timeout = sys::timespec_of(wait);
  const std::int64_t before = clock_ns();
  ppoll(watched.data(), watched.size(), &timeout, nullptr);
  if (begun_ns_ != 0 && ended_ns_ == 0) {
    waited_ns_[static_cast<std::size_t>(reason_)] += clock_ns() - before;
  }
}

void Endpoint::drain(std::chrono::nanoseconds time, int other) {
  const std::int64_t until = clock_ns() + time.count();
  for (std::int64_t left = time.count(); left > 0; left = until - clock_ns()) {
    if (!read_all() || sys::is_readable(other)) {
      return;
    }
    wait(std::chrono::nanoseconds(left), other);
  }
}

void Endpoint::begin(bool sends, bool receives) {
  sends_ = sends;
  receives_ = receives;
  cores_before_ = cores_of(root_);
  before_ = socket_.counts();
  restart_clock();
}

void Endpoint::restart_clock() {
  cpu_before_ns_ = sys::thread_cpu_ns();
  waited_ns_ = {};
  begun_ns_ = clock_ns();
  interval_began_ns_ = begun_ns_;
  interval_ends_ns_ = begun_ns_ + parameters_.interval.count();
}

Result<> Endpoint::start() {
  if (is_perf() && receives_) {
    TRY(connection_->request_streams(parameters_.streams));
  }
  if (!sends_) {
    return {};
  }
  restart_clock();
  const SocketCounts& now = socket_.counts();
  before_.sent_packets = now.sent_packets;
  before_.sent_calls = now.sent_calls;
  before_.refused_packets = now.refused_packets;
  before_.sent_ect0 = now.sent_ect0;
  return connection_->open_streams(parameters_.streams);
}

bool Endpoint::is_done() const {
  const StreamCounts& counts = connection_->counts();
  // What a server of Protocol::Perf sends ends with the connection.
  const bool is_received = is_perf() ? finishing_ : counts.received_whole == parameters_.streams;
  return (!sends_ || counts.sent_whole == parameters_.streams) && (!receives_ || is_received);
}

void Endpoint::sample() {
  const Statistics now = connection_->statistics();
  max_cwnd_bytes_ = std::max(max_cwnd_bytes_, now.cwnd_bytes);
  if (now.smoothed_rtt_ns > 0) {
    rtt_ns_->add(static_cast<std::uint64_t>(now.smoothed_rtt_ns));
  }
}

void Endpoint::tick(const OnInterval& on_interval) {
  if (ended_ns_ != 0) {
    return;
  }
  const std::int64_t now = clock_ns();
  sample();
  if (!finishing_ && now >= begun_ns_ + parameters_.time.count()) {
    finishing_ = true;
    connection_->finish();
  }
  if (is_done()) {
    end(now, on_interval);
  } else if (now >= interval_ends_ns_) {
    end_interval(now, on_interval);
  }
}

void Endpoint::end_interval(std::int64_t now_ns, const OnInterval& on_interval) {
  const StreamCounts counts = connection_->counts();
  const Statistics now = connection_->statistics();
  IntervalMeasure interval{.start_s = since_begin_s(interval_began_ns_),
                           .end_s = since_begin_s(now_ns),
                           .sent_bytes = counts.sent_bytes - at_interval_.sent_bytes,
                           .received_bytes = counts.received_bytes - at_interval_.received_bytes,
                           .lost_packets = counts.lost_packets - at_interval_.lost_packets,
                           .cwnd_bytes = now.cwnd_bytes};
  if (now.smoothed_rtt_ns > 0) {
    interval.rtt_ms = static_cast<double>(now.smoothed_rtt_ns) / math::kNsPerMs;
  }
  if (intervals_.size() < control::kMaxIntervalsKept) {
    intervals_.push_back(interval);
    if (is_perf() && sends_) {
      acknowledged_intervals_.push_back(
          {.start_s = interval.start_s,
           .end_s = interval.end_s,
           .received_bytes = counts.acknowledged_bytes - at_interval_.acknowledged_bytes});
    }
  }
  on_interval(interval);
  at_interval_ = counts;
  interval_began_ns_ = now_ns;
  while (interval_ends_ns_ <= now_ns) {
    interval_ends_ns_ += parameters_.interval.count();
  }
}

void Endpoint::stop() {
  end(clock_ns(), [](const IntervalMeasure& /*last*/) {});
}

void Endpoint::end(std::int64_t now_ns, const OnInterval& on_interval) {
  if (begun_ns_ == 0 || ended_ns_ != 0) {
    return;
  }
  end_interval(now_ns, on_interval);
  ended_ns_ = now_ns;
  cpu_ns_ = sys::thread_cpu_ns() - cpu_before_ns_;
  cores_after_ = cores_of(root_);
}

double Endpoint::since_begin_s(std::int64_t ns) const {
  return seconds_of(std::max<std::int64_t>(ns - begun_ns_, 0));
}

double Endpoint::share_of(Reason reason) const {
  const auto time = static_cast<double>(std::max<std::int64_t>(ended_ns_ - begun_ns_, 1));
  return std::clamp(static_cast<double>(waited_ns_.at(static_cast<std::size_t>(reason))) / time,
                    0.0, 1.0);
}

SentMeasure Endpoint::sent_measure() const {
  const SocketCounts& counts = socket_.counts();
  const StreamCounts& streams = connection_->counts();
  const Statistics statistics = connection_->statistics();
  Shares shares{.flow_window = share_of(Reason::FlowControl),
                .congestion_window = share_of(Reason::Congestion),
                .pacing = share_of(Reason::Pacing),
                .send_buffer = share_of(Reason::SendBuffer),
                .application = share_of(Reason::Asked) + share_of(Reason::Idle)};
  shares.processor = std::max(0.0, 1 - shares.flow_window - shares.congestion_window -
                                       shares.pacing - shares.send_buffer - shares.application);
  SentMeasure sent{.bytes = streams.sent_bytes,
                   .packets = counts.sent_packets - before_.sent_packets,
                   .lost_packets = streams.lost_packets,
                   .refused_packets = counts.refused_packets - before_.refused_packets,
                   .calls = counts.sent_calls - before_.sent_calls,
                   .ect0_packets = counts.sent_ect0 - before_.sent_ect0,
                   .max_cwnd_bytes = max_cwnd_bytes_,
                   .packet_bytes = statistics.packet_bytes,
                   .rtt_ms = rtt_ns_->distribution(math::kNsPerMs),
                   .segmentation = socket_.is_segmenting(),
                   .shares = shares};
  if (statistics.min_rtt_ns > 0) {
    sent.min_rtt_ms = static_cast<double>(statistics.min_rtt_ns) / math::kNsPerMs;
  }
  return sent;
}

ReceivedMeasure Endpoint::received_measure() const {
  const SocketCounts& counts = socket_.counts();
  const std::span<const std::uint64_t> streams = connection_->received_by_stream();
  return {.bytes = connection_->received_bytes(),
          .packets = counts.received_packets - before_.received_packets,
          .calls = counts.received_calls - before_.received_calls,
          .ect0_packets = counts.received_ect0 - before_.received_ect0,
          .ce_packets = counts.received_ce - before_.received_ce,
          .start_s = since_begin_s(data_.first_ns),
          .end_s = since_begin_s(data_.last_ns),
          .stream_bytes = {streams.begin(), streams.end()}};
}

HostMeasure Endpoint::host_measure() const {
  const auto time = static_cast<double>(std::max<std::int64_t>(ended_ns_ - begun_ns_, 1));
  std::int64_t waited = 0;
  for (const std::int64_t each : waited_ns_) {
    waited += each;
  }
  HostMeasure host{
      .cpu_percent = math::kPercent * static_cast<double>(cpu_ns_) / time,
      .busy_percent = math::kPercent * std::max(0.0, 1 - static_cast<double>(waited) / time)};
  if (cores_before_ && cores_after_) {
    if (const auto cores = host::busiest(*cores_before_, *cores_after_)) {
      host.softirq_percent = cores->softirq_percent;
      host.softirq_core = cores->softirq_core;
    }
  }
  return host;
}

Half Endpoint::half() const {
  return {.sent = sends_ ? sent_measure() : SentMeasure{},
          .received = receives_ ? received_measure() : ReceivedMeasure{},
          .host = host_measure(),
          .intervals = intervals_,
          .library = library_version()};
}

Half Endpoint::acknowledged_half() const {
  const std::span<const std::uint64_t> streams = connection_->acknowledged_by_stream();
  return {.received = {.bytes = connection_->acknowledged_bytes(),
                       .start_s = since_begin_s(acknowledgements_.first_ns),
                       .end_s = since_begin_s(acknowledgements_.last_ns),
                       .stream_bytes = {streams.begin(), streams.end()}},
          .intervals = acknowledged_intervals_};
}

}  // namespace chokepoint::probe::quic
