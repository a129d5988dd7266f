// Counters of RDMA ports (base/host/rdma_counters.h) during a job: all that ever change, by common
// names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/host/rdma_counters.h"
#include "base/sys/root.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

class RdmaSampler final : public Sampler {
 public:
  explicit RdmaSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override;

 private:
  struct Source {
    host::RdmaCounter read = {};
    Counter* counter = nullptr;
  };

  void find(Sink& sink);
  void keep(std::vector<host::RdmaCounter> found, const std::string& subject, Sink& sink);

  sys::Root root_;
  std::int64_t found_ns_ = INT64_MIN;
  std::vector<Source> sources_;
};

}  // namespace chokepoint::capture::counter
