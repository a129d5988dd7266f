// Counters of RDMA ports, which the NIC's own driver counts and no socket or packet shows:
// /sys/class/infiniband/DEVICE/ports/N/{counters,hw_counters}. All that ever change; drivers' names
// are translated where several call the same thing differently.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/root.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

// "np_cnp_sent" is "cnp_sent"; a name without a translation is its own.
std::string_view common_rdma_name(std::string_view file);

class RdmaSampler final : public Sampler {
 public:
  explicit RdmaSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override;

 private:
  struct Source {
    std::string path = {};
    Counter* counter = nullptr;
    std::uint64_t unit_bytes = 1;
  };

  void find(Sink& sink);
  void find_in(const std::string& folder, const std::string& subject, Sink& sink);

  sys::Root root_;
  std::int64_t found_ns_ = INT64_MIN;
  std::vector<Source> sources_;
};

}  // namespace chokepoint::capture::counter
