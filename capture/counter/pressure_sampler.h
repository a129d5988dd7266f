// How long somebody (some) or everybody (full) waited for a core, memory or disks, from
// /proc/pressure. "some" of cpu grows where there are more ready threads than cores.
#pragma once

#include <array>
#include <string>

#include "base/sys/root.h"
#include "capture/counter/kept_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

class PressureSampler final : public Sampler {
 public:
  explicit PressureSampler(const sys::Root& root)
      : files_{KeptFile(root, "/proc/pressure/cpu"), KeptFile(root, "/proc/pressure/memory"),
               KeptFile(root, "/proc/pressure/io")} {}

  void sample(const Moment& moment, Sink& sink) override;

 private:
  std::array<KeptFile, 3> files_;
  std::string buffer_;
};

}  // namespace chokepoint::capture::counter
