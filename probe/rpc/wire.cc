#include "probe/rpc/wire.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/control/bodies.h"
#include "base/math/units.h"

namespace chokepoint::probe::rpc {
namespace {

// Of one turn, so that no connection waits for another one.
constexpr int kMaxSends = 8;
constexpr int kMaxReceives = 8;
constexpr double kUsPerSecond = 1e6;

bool would_wait(int code) { return code == EAGAIN || code == EINTR; }

std::uint64_t begun_of(std::uint64_t bytes, std::uint64_t size) {
  return (bytes + size - 1) / size;
}

}  // namespace

void SentMeter::change_totals(int fd, int sign) {
  const Result<net::TcpInfo> info = net::read_tcp_info(fd);
  if (!info) {
    return;
  }
  look(*info);
  retransmits_ += sign * static_cast<std::int64_t>(info->retransmits);
  if (info->chrono) {
    chrono_.busy_us += sign * info->chrono->busy_us;
    chrono_.receive_window_us += sign * info->chrono->receive_window_us;
    chrono_.send_buffer_us += sign * info->chrono->send_buffer_us;
  }
}

void SentMeter::look(const net::TcpInfo& info) {
  mss_bytes_ = info.mss_bytes > 0 ? std::optional<std::int64_t>(info.mss_bytes) : mss_bytes_;
  max_window_bytes_ = std::max(max_window_bytes_, info.congestion_window_bytes());
  if (info.rtt_ms && *info.rtt_ms > 0) {
    rtt_ns_.add(static_cast<std::uint64_t>(*info.rtt_ms * math::kNsPerMs));
  }
  if (info.min_rtt_ms && *info.min_rtt_ms > 0) {
    min_rtt_ms_ = std::min(min_rtt_ms_.value_or(*info.min_rtt_ms), *info.min_rtt_ms);
  }
}

void SentMeter::look_at_window(int fd) {
  if (const Result<net::TcpInfo> info = net::read_tcp_info(fd)) {
    window_bytes_.add(info->congestion_window_bytes());
  }
}

SentMeasure SentMeter::measure() const {
  const auto seconds = [](std::int64_t us) {
    return static_cast<double>(std::max<std::int64_t>(us, 0)) / kUsPerSecond;
  };
  return {.retransmits = static_cast<std::uint64_t>(std::max<std::int64_t>(retransmits_, 0)),
          .rtt_ms = rtt_ns_.distribution(math::kNsPerMs),
          .min_rtt_ms = min_rtt_ms_,
          .mss_bytes = mss_bytes_,
          .window_bytes = window_bytes_.distribution(),
          .max_window_bytes = max_window_bytes_,
          .busy_s = seconds(chrono_.busy_us),
          .receive_window_s = seconds(chrono_.receive_window_us),
          .send_buffer_s = seconds(chrono_.send_buffer_us)};
}

Result<std::uint64_t> Wire::flush() {
  const std::uint64_t begun_before = begun_of(sent_, sizes_.out);
  std::uint64_t begun = begun_before;
  for (int i = 0; i < kMaxSends && has_more_to_send(); ++i) {
    const std::size_t size = std::min<std::uint64_t>(queued_ - sent_, payload_.size());
    const ssize_t sent = send(fd_.get(), payload_.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && would_wait(errno)) {
      break;
    }
    if (sent < 0) {
      return fail(from_errno(errno, "send", "calls"));
    }
    sent_ += static_cast<std::uint64_t>(sent);
    const std::uint64_t now_begun = begun_of(sent_, sizes_.out);
    // After the first send: a window that idleness takes away is gone from then on.
    if (now_begun > begun && sizes_.out > kFirstFlightBytes) {
      meter_->look_at_window(fd_.get());
    }
    begun = now_begun;
  }
  return begun - begun_before;
}

Result<std::uint64_t> Wire::receive(std::span<std::byte> into) {
  const std::uint64_t whole_before = received_ / sizes_.in;
  for (int i = 0; i < kMaxReceives; ++i) {
    const ssize_t got = recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (got < 0 && would_wait(errno)) {
      break;
    }
    if (got <= 0) {
      return got < 0 ? fail(from_errno(errno, "receive", "calls"))
                     : fail(ErrorKind::Refused, "receive", "calls",
                            "the other end closed the connection");
    }
    received_ += static_cast<std::uint64_t>(got);
    if (static_cast<std::size_t>(got) < into.size()) {
      break;
    }
  }
  return received_ / sizes_.in - whole_before;
}

}  // namespace chokepoint::probe::rpc
