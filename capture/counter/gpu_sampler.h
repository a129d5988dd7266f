// What the GPUs did, as GpuWatch read it last; and which of the job's processes use which.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "capture/counter/gpu_watch.h"
#include "capture/counter/sampler.h"
#include "capture/counter/throttle_log.h"

namespace chokepoint::capture::counter {

class GpuSampler final : public Sampler {
 public:
  explicit GpuSampler(std::unique_ptr<GpuWatch> watch) : watch_(std::move(watch)) {}

  void sample(const Moment& moment, Sink& sink) override;
  void tell(Figures& figures) const override;

 private:
  void note_users(const GpuReading& gpu, const Moment& moment, Sink& sink);
  void note_throttling(const GpuReading& gpu, std::int64_t t_ns, Sink& sink);
  bool is_of_job(const GpuReading& gpu) const;
  void sum_up(const GpuReadings& readings);

  std::unique_ptr<GpuWatch> watch_;
  std::int64_t before_ns_ = 0;
  std::set<std::pair<std::string, std::uint64_t>> users_;  // a GPU's address and a pid of the job
  std::map<std::string, ThrottleLog> throttles_;           // by the GPU's address
  std::map<std::string, int> slowed_;
  std::optional<double> percent_;
};

}  // namespace chokepoint::capture::counter
