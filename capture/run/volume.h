// The job's volume: how fast it grows, and what it is where only its sockets are seen. The caller's
// thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/record/writer.h"
#include "capture/live/figures.h"
#include "capture/socket/watcher.h"
#include "capture/tap/job_flows.h"

namespace chokepoint::capture::run {

// How fast the job's volume grows, over the last second or so.
class Pace {
 public:
  // Megabits per second in each direction.
  struct Rates {
    double sent_mbps = 0;
    double received_mbps = 0;
  };

  Rates take(std::int64_t now_ns, std::uint64_t sent_bytes, std::uint64_t received_bytes) {
    if (since_ns_ && now_ns - *since_ns_ < kSpanNs) {
      return rates_;
    }
    if (since_ns_) {
      const double microseconds = static_cast<double>(now_ns - *since_ns_) / 1e3;
      rates_ = {
          .sent_mbps = static_cast<double>(sent_bytes - sent_) * 8 / microseconds,
          .received_mbps = static_cast<double>(received_bytes - received_) * 8 / microseconds};
    }
    since_ns_ = now_ns;
    sent_ = sent_bytes;
    received_ = received_bytes;
    return rates_;
  }

 private:
  static constexpr std::int64_t kSpanNs = 1'000'000'000;

  std::optional<std::int64_t> since_ns_ = {};
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  Rates rates_ = {};
};

// The job's volume if its packets cannot be captured: what its sockets sent and received, plus the
// headers on the wire. An estimate; the record shows that by the source.
class SocketVolume {
 public:
  // The writer outlives it.
  explicit SocketVolume(record::Writer& writer) : writer_(writer) {}

  live::Volume push(const socket::Figures& figures, std::int64_t now_ns);

 private:
  record::Writer& writer_;
  std::optional<tap::VolumeSeries> series_;  // registered with its first rows
};

}  // namespace chokepoint::capture::run
