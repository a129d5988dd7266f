// CPU time and memory of each process of the job, and of chokepoint itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/sys/root.h"
#include "capture/counter/kept_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

class ProcessSampler final : public Sampler {
 public:
  explicit ProcessSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override;

 private:
  struct Known {
    std::uint64_t start_ticks = 0;  // of the process that had the pid last
    KeptFile stat;
    Counter* cpu = nullptr;
    Level* memory = nullptr;
    std::int64_t seen_ns = 0;
  };

  Known& known(const job::JobProcess& process, Sink& sink);
  void look_at(const job::JobProcess& process, std::int64_t now_ns, Sink& sink);

  sys::Root root_;
  std::map<pid_t, Known> known_;
  std::string buffer_;
};

class OwnSampler final : public Sampler {
 public:
  explicit OwnSampler(const sys::Root& root) : stat_(root, "/proc/self/stat") {}

  void sample(const Moment& moment, Sink& sink) override;
  void tell(Figures& figures) const override;

 private:
  KeptFile stat_;
  std::string buffer_;
  std::optional<std::int64_t> first_ns_;
  std::uint64_t first_cpu_ns_ = 0;
  std::optional<double> percent_;
};

}  // namespace chokepoint::capture::counter
