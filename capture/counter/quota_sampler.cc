// How long the job was held back by the processor quotas of its cgroups, of either version: those
// that its processes are in, and those above them. A container's limit is one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/record/names.h"
#include "base/sys/root.h"
#include "capture/counter/kernel_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {
namespace {

constexpr std::string_view kCgroups = "/sys/fs/cgroup";
constexpr std::size_t kMaxReadProcesses = 64;
constexpr std::size_t kMaxCgroups = 32;

// "3:cpu,cpuacct:/a", or version 2's "0::/a".
bool may_have_quota(std::string_view line) {
  Words parts(line, ":");
  parts.next();
  const std::string_view controllers = parts.next();
  if (controllers.starts_with('/')) {
    return true;
  }
  Words names(controllers, ",");
  for (std::string_view name = names.next(); !name.empty(); name = names.next()) {
    if (name == "cpu") {
      return true;
    }
  }
  return false;
}

// Nanoseconds; nullopt where the cgroup has no quota.
std::optional<std::uint64_t> throttled_in(std::string_view stat) {
  std::optional<std::uint64_t> periods;
  std::optional<std::uint64_t> throttled_ns;
  Words lines = lines_of(stat);
  for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
    Words words(line);
    const std::string_view name = words.next();
    const auto number = number_in(words.next());
    if (name == "nr_periods") {
      periods = number;
    } else if (name == "throttled_time") {
      throttled_ns = number;
    } else if (name == "throttled_usec" && number) {
      throttled_ns = *number * 1000;
    }
  }
  return periods.value_or(0) > 0 ? throttled_ns : std::nullopt;
}

class QuotaSampler final : public Sampler {
 public:
  explicit QuotaSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override {
    for (const std::string& folder : cgroups_of(moment.processes)) {
      const std::string source = folder + "/cpu.stat";
      const Result<std::string> text = root_.read(source);
      if (const auto throttled_ns = text ? throttled_in(*text) : std::nullopt) {
        sink.counter({std::string(record::kThrottled), folder.substr(kCgroups.size()), source},
                     FirstRow::Always)
            .see(moment.now_ns, *throttled_ns);
      }
    }
  }

 private:
  std::set<std::string> cgroups_of(const job::JobProcesses& processes) const {
    std::set<std::string> folders;
    for (std::size_t i = 0; i < std::min(processes.size(), kMaxReadProcesses); ++i) {
      const std::string text =
          root_.text(fmt::format("/proc/{}/cgroup", processes[i].pid)).value_or("");
      Words lines = lines_of(text);
      for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
        if (may_have_quota(line)) {
          add_with_parents(std::string(line), folders);
        }
      }
    }
    return folders;
  }

  void add_with_parents(const std::string& line, std::set<std::string>& folders) const {
    std::string folder = job::find_cgroup(root_, line).value_or("");
    while (folder.size() > kCgroups.size() && folder.starts_with(kCgroups) &&
           folders.size() < kMaxCgroups && folders.insert(folder).second) {
      folder.resize(folder.rfind('/'));
    }
  }

  sys::Root root_;
};

}  // namespace

OwnedSampler quota_sampler(const sys::Root& root) { return std::make_unique<QuotaSampler>(root); }

}  // namespace chokepoint::capture::counter
