// How far it got and what was lost on the way: told by the reading thread once a batch, read by any
// thread at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "capture/source/source.h"

namespace chokepoint::capture::observer {

struct Progress {
  std::uint64_t frames = 0;
  std::uint64_t frame_bytes = 0;
  std::uint64_t dropped_by_kernel = 0;
  std::uint64_t dropped_by_interface = 0;
  std::int64_t first_ns = 0;  // of the first frame and the newest one, 0 without one
  std::int64_t last_ns = 0;

  double seconds() const;
};

class CaptureProgress {
 public:
  // The reading thread.
  void take(const source::Batch& batch);
  void take(const std::vector<source::Interface>& interfaces);

  Progress progress() const;
  // Where in time what was lost. Their number is bounded: beyond it the last one grows.
  std::vector<source::Drop> drops() const;
  std::vector<source::Interface> interfaces() const;
  std::string interface_name(std::uint32_t index) const;

 private:
  void keep(const source::Drop& drop);

  mutable std::mutex mutex_;
  Progress progress_;
  std::vector<source::Drop> drops_;
  std::vector<source::Interface> interfaces_;
};

}  // namespace chokepoint::capture::observer
