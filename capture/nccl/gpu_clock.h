// A GPU's own clock in this host's: whoever saw the GPU's stamp saw it after it was made, so the
// least difference ever seen is the nearest to the truth. The two run at rates of their own, so
// only what was seen in the last moments counts. One thread.
#pragma once

#include <cstdint>
#include <optional>

namespace chokepoint::capture::nccl {

class GpuClock {
 public:
  // `gpu_ns` was made on the GPU, `seen_ns` is when this host noticed.
  void learn(std::int64_t gpu_ns, std::int64_t seen_ns);
  // By the host's clock; nothing before anything was learnt.
  std::optional<std::int64_t> host_ns(std::int64_t gpu_ns) const;

 private:
  struct Bin {
    std::int64_t number = 0;
    std::optional<std::int64_t> least_ns = {};
  };

  Bin newest_ = {};
  Bin before_ = {};
};

}  // namespace chokepoint::capture::nccl
