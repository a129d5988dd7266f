// Other processes that take the processors: those that are not of the job, summed up by their
// names.
//
// All of /proc is read for it, which takes milliseconds on a full host. So it is done only while
// tasks wait for a core, by /proc/pressure/cpu: else no process takes time from the job.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/record/names.h"
#include "base/sys/root.h"
#include "capture/counter/kernel_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {
namespace {

constexpr double kCrowdedNsPerS = 50'000'000;  // some task waited for a core so long each second
constexpr std::size_t kMaxOtherProcesses = 4096;
constexpr std::size_t kMaxOtherNames = 24;  // with a series; all further processes are "other"
constexpr std::uint64_t kMinOthersTimeNs = 50'000'000;
constexpr std::string_view kOther = "other";

// "4711 (a name) R 1 …"; empty where it is none.
std::string_view name_in(std::string_view stat) {
  const std::size_t open = stat.find('(');
  const std::size_t close = stat.rfind(')');
  return open == std::string_view::npos || close == std::string_view::npos || close < open
             ? std::string_view()
             : stat.substr(open + 1, close - open - 1);
}

class OtherProcessesSampler final : public Sampler {
 public:
  explicit OtherProcessesSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override {
    const auto waited = sink.growth_per_s(record::kPressureSome, "cpu");
    if (waited && *waited < kCrowdedNsPerS) {
      seen_.clear();
      return;
    }
    std::map<pid_t, ProcessStat> now;
    for (const pid_t pid : others(moment.processes)) {
      read_process(pid, now);
    }
    seen_ = std::move(now);
    newest_ticks_ = newest_of(seen_);
    for (auto& [name, taken] : names_) {
      write(name, taken, moment.now_ns, sink);
    }
  }

 private:
  struct Taken {
    std::uint64_t cpu_ns = 0;
    Counter* counter = nullptr;
  };

  std::vector<pid_t> others(const job::JobProcesses& job) const {
    std::vector<pid_t> found;
    for (const std::string& name : root_.list("/proc")) {
      const auto pid = static_cast<pid_t>(number_in(name).value_or(0));
      if (pid != 0 && std::ranges::count(job, pid, &job::JobProcess::pid) == 0) {
        found.push_back(pid);
      }
      if (found.size() == kMaxOtherProcesses) {
        break;
      }
    }
    return found;
  }

  void read_process(pid_t pid, std::map<pid_t, ProcessStat>& now) {
    const Result<std::string> text = root_.read(fmt::format("/proc/{}/stat", pid));
    const auto stat = text ? process_stat_in(*text) : std::nullopt;
    if (!stat) {
      return;
    }
    now[pid] = *stat;
    const std::uint64_t before_ns = before(pid, *stat);
    if (stat->cpu_ns > before_ns) {
      names_[name_of(*text)].cpu_ns += stat->cpu_ns - before_ns;
    }
  }

  // What it had taken at the last reading. A process that was missed then, rather than started
  // since, may have taken all its time long ago.
  std::uint64_t before(pid_t pid, const ProcessStat& stat) const {
    const auto found = seen_.find(pid);
    if (found != seen_.end() && found->second.start_ticks == stat.start_ticks) {
      return found->second.cpu_ns;
    }
    const bool is_new = !seen_.empty() && stat.start_ticks > newest_ticks_;
    return is_new ? 0 : stat.cpu_ns;
  }

  static std::uint64_t newest_of(const std::map<pid_t, ProcessStat>& seen) {
    std::uint64_t newest = 0;
    for (const auto& [pid, stat] : seen) {
      newest = std::max(newest, stat.start_ticks);
    }
    return newest;
  }

  std::string name_of(std::string_view stat) const {
    std::string name = kind_of_thread(name_in(stat));
    return names_.size() < kMaxOtherNames || names_.contains(name) ? name : std::string(kOther);
  }

  static void write(const std::string& name, Taken& taken, std::int64_t now_ns, Sink& sink) {
    if (taken.counter == nullptr && taken.cpu_ns < kMinOthersTimeNs) {
      return;
    }
    if (taken.counter == nullptr) {
      taken.counter =
          &sink.counter({std::string(record::kOthersCpu), name, "/proc/*/stat"}, FirstRow::Always);
    }
    taken.counter->see(now_ns, taken.cpu_ns);
  }

  sys::Root root_;
  std::map<pid_t, ProcessStat> seen_;  // at the last reading; empty after time without waiting
  std::uint64_t newest_ticks_ = 0;     // the latest start of these
  std::map<std::string, Taken> names_;
};

}  // namespace

OwnedSampler other_processes_sampler(const sys::Root& root) {
  return std::make_unique<OtherProcessesSampler>(root);
}

}  // namespace chokepoint::capture::counter
