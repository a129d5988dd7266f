// One TCP connection that carries calls: messages of one size each way, back to back, so that a
// count of bytes shows where one ends. Moves what the socket takes and never waits. Owns the
// socket; borrows what it sends. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/math/histogram.h"
#include "base/math/tcp_rate.h"
#include "base/net/tcp_info.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/rpc/measurement.h"

namespace chokepoint::probe::rpc {

// What TCP lets out at once on a new connection: ten segments (RFC 6928).
inline constexpr auto kFirstFlightBytes = static_cast<std::uint64_t>(10 * math::kSegmentBytes);

// What the kernel reports of several connections (tcp_info), read while they are used.
class SentMeter {
 public:
  void begin(int fd) { change_totals(fd, -1); }
  void look(const net::TcpInfo& info);
  void look_at_window(int fd);
  // Adds what each connection did since begin().
  void end(int fd) { change_totals(fd, 1); }
  SentMeasure measure() const;

 private:
  void change_totals(int fd, int sign);

  math::Histogram rtt_ns_;
  math::Histogram window_bytes_;
  std::optional<double> min_rtt_ms_;
  std::optional<std::int64_t> mss_bytes_;
  std::uint64_t max_window_bytes_ = 0;
  std::int64_t retransmits_ = 0;
  net::TcpChrono chrono_ = {};
};

class Wire {
 public:
  struct Sizes {
    std::uint64_t out = 1;  // of a message that this end sends
    std::uint64_t in = 1;
  };
  // `payload` and `meter` outlive it.
  Wire(sys::Descriptor fd, Sizes sizes, std::span<const std::byte> payload, SentMeter& meter)
      : fd_(std::move(fd)), sizes_(sizes), payload_(payload), meter_(&meter) {}

  int descriptor() const { return fd_.get(); }
  SentMeter& meter() const { return *meter_; }
  std::uint64_t moved_bytes() const { return sent_ + received_; }

  void queue(std::uint64_t messages) { queued_ += messages * sizes_.out; }
  // How many messages got their first byte out.
  Result<std::uint64_t> flush();
  bool has_more_to_send() const { return sent_ < queued_; }
  // How many messages came to their end.
  Result<std::uint64_t> receive(std::span<std::byte> into);

 private:
  sys::Descriptor fd_;
  Sizes sizes_;
  std::span<const std::byte> payload_;
  SentMeter* meter_;
  std::uint64_t queued_ = 0;  // bytes since the connection began, as the next ones
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace chokepoint::probe::rpc
