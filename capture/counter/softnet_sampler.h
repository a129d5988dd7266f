// The last processing step before the protocols, per core, from /proc/net/softnet_stat: packets
// dropped because its queue was full, and rounds cut off with work left to do.
#pragma once

#include <string>

#include "base/sys/root.h"
#include "capture/counter/kept_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

class SoftnetSampler final : public Sampler {
 public:
  explicit SoftnetSampler(const sys::Root& root) : stat_(root, "/proc/net/softnet_stat") {}

  void sample(const Moment& moment, Sink& sink) override;

 private:
  KeptFile stat_;
  std::string buffer_;
};

}  // namespace chokepoint::capture::counter
