// Watches one stream from outside its thread: what it has moved, and what the kernel says of its
// connection. tick() is called every kTick by the thread that runs the test.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/math/histogram.h"
#include "base/net/tcp_info.h"
#include "probe/tcp/measurement.h"
#include "probe/tcp/stream.h"

namespace chokepoint::probe::tcp {

inline constexpr std::chrono::milliseconds kTick{20};

class StreamWatch {
 public:
  // `begun_ns`: when the test began at this end.
  StreamWatch(const Stream& stream, std::int64_t begun_ns, std::int64_t omit_ns);

  void tick(std::int64_t now_ns);
  bool done() const { return stream_.counters().done; }
  const Stream& stream() const { return stream_; }

  // Since the last call of this function.
  struct Change {
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> retransmits = {};
    std::optional<std::uint64_t> cwnd_bytes = {};
    std::optional<double> rtt_ms = {};
  };
  Change change();

  StreamMeasure measure() const;

 private:
  bool sends() const { return stream_.plan().role == Role::Send; }
  void begin_measuring(std::int64_t now_ns);
  void note(const net::TcpInfo& info, std::int64_t now_ns);
  bool starved_by_buffer(const net::TcpInfo& info) const;
  double seconds(std::int64_t at_ns) const;

  const Stream& stream_;
  std::int64_t begun_ns_;
  std::int64_t omit_until_ns_;
  // Where measuring began; nothing while data is still omitted.
  std::optional<std::int64_t> start_ns_;
  std::uint64_t bytes_before_ = 0;
  std::optional<net::TcpInfo> info_before_;
  std::optional<net::TcpInfo> info_;  // the last while there was data
  std::int64_t info_ns_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t starved_samples_ = 0;
  std::uint64_t bytes_reported_ = 0;
  std::uint64_t retransmits_reported_ = 0;
  std::uint64_t max_cwnd_bytes_ = 0;
  std::uint64_t max_send_window_bytes_ = 0;
  std::unique_ptr<math::Histogram> rtt_ns_ = std::make_unique<math::Histogram>();
};

}  // namespace chokepoint::probe::tcp
