// Counters of the host while the job runs: NICs, cores, the job's threads, pressure, PCIe, GPUs,
// RDMA, TCP's own. Each is a Series of the run record, sampled at its own pace, written only where
// it changed. What this host lacks becomes one remark, with the reason. tick() by one thread;
// figures() any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/record/series_table.h"
#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/job/process.h"

namespace chokepoint::capture::counter {

struct Options {
  std::int64_t interval_ns = 100'000'000;         // of cheap sources: /proc/net/dev, /proc/stat
  std::int64_t slow_interval_ns = 1'000'000'000;  // of costly ones: ethtool, NVML, PCIe links
  // NVML, opened at run time. nullopt: libnvidia-ml.so.1, if the root is the host's own.
  std::optional<std::string> gpu_library = {};
  // CPU time that the calling thread has used; samplers that cost more than their share are read
  // less often. Empty: the kernel's measure.
  std::function<std::int64_t()> spent_ns = {};
};

// So many interfaces, disks or ports have metrics of their own, those that counted most.
inline constexpr std::size_t kMaxSubjects = 64;

// The newest reading of a series that has a name for Prometheus.
struct SeriesValue {
  const record::SeriesDescription* row = nullptr;
  std::string subject = {};
  double value = 0;
};

// What the live line and the metrics show. A value.
struct Figures {
  struct Nic {
    std::string name = {};
    std::uint64_t sent_bytes = 0;  // since the host started
    std::uint64_t received_bytes = 0;
    std::uint64_t dropped = 0;
    double sent_mbps = 0;  // now
    double received_mbps = 0;
  };
  // How long a rank's first thread has waited beside the network.
  struct Waits {
    std::optional<int> rank = {};  // of the job
    pid_t pid = 0;
    double batch_s = 0;  // while all its loaders were at work
    double read_s = 0;
    double write_s = 0;
  };
  std::vector<Nic> nics = {};
  std::vector<Waits> waits = {};
  std::optional<double> busiest_core_percent = {};
  std::optional<double> softirq_percent = {};         // of the core that has most of it
  std::optional<double> busiest_thread_percent = {};  // of the job's
  std::string busiest_thread = {};
  std::optional<double> own_cpu_percent = {};   // chokepoint's own, of one core, since its start
  std::optional<double> gpu_percent = {};       // the mean of the job's GPUs
  std::map<std::string, int> slowed_gpus = {};  // how many, by reason; empty where it is not known
  std::vector<std::string> remarks = {};        // what could not be seen, and why
  // Of about a second ago; never null. Devices of which nothing was counted are left out, and of a
  // series no more than kMaxSubjects.
  std::shared_ptr<const std::vector<SeriesValue>> series =
      std::make_shared<const std::vector<SeriesValue>>();
};

class Watcher {
 public:
  // The writer outlives it.
  static std::unique_ptr<Watcher> make(const Options& options, const sys::Root& root,
                                       const sys::Clock& clock, record::Writer& writer);
  virtual ~Watcher() = default;

  // Runs the samplers that are due. Returns when to call it again, in monotonic ns.
  virtual std::int64_t tick(const job::JobProcesses& processes) = 0;
  // Reads all once more.
  virtual void finish(const job::JobProcesses& processes) = 0;
  virtual Figures figures() const = 0;
};

}  // namespace chokepoint::capture::counter
