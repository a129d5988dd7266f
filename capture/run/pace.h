// How fast a sum grows, over the last second or so. One thread. A value.
#pragma once

#include <cstdint>
#include <optional>

namespace chokepoint::capture::run {

class Pace {
 public:
  // Megabits a second each way.
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

}  // namespace chokepoint::capture::run
