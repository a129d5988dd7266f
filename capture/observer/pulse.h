// When the watched job's bytes pass, a millisecond at a time: from this the steps are told where
// nothing else tells of them. Which flows are the job's is marked by slot. The analyser's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace chokepoint::capture::observer {

struct Beat {
  std::int64_t time_ns = 0;  // where the millisecond begins
  std::uint64_t bytes = 0;
};

class TrafficBins {
 public:
  void mark(std::uint32_t slot, bool is_job) {
    if (slot >= is_job_.size()) {
      is_job_.resize(std::max<std::size_t>(slot + 1, is_job_.size() * 2));
    }
    is_job_[slot] = is_job ? 1 : 0;
  }

  void take(std::uint32_t slot, std::int64_t time_ns, std::uint32_t bytes) {
    if (slot >= is_job_.size() || is_job_[slot] == 0) {
      return;
    }
    const std::int64_t begins_ns = time_ns - time_ns % kMillisecondNs;
    if (beats_.empty() || beats_.back().time_ns != begins_ns) {
      beats_.push_back({.time_ns = begins_ns});
    }
    beats_.back().bytes += bytes;
  }

  // Those since clear(), in the order in which they came.
  const std::vector<Beat>& beats() const { return beats_; }
  void clear() { beats_.clear(); }

 private:
  static constexpr std::int64_t kMillisecondNs = 1'000'000;

  std::vector<std::uint8_t> is_job_;
  std::vector<Beat> beats_;
};

}  // namespace chokepoint::capture::observer
