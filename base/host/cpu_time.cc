#include "base/host/cpu_time.h"

#include <string_view>
#include <vector>

#include "base/host/words.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kStat = "/proc/stat";

// The columns behind "cpuN", as proc(5) numbers them.
constexpr std::size_t kIdle = 3;
constexpr std::size_t kIoWait = 4;
constexpr std::size_t kSoftIrq = 6;
constexpr std::size_t kColumns = 8;  // up to "steal"; what guests took is in "user" already

std::optional<CoreTime> core_time_of(const std::vector<std::string>& words) {
  CoreTime time;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::optional<std::int64_t> ticks =
        i + 1 < words.size() ? number_of(words[i + 1]) : std::nullopt;
    if (!ticks) {
      return std::nullopt;
    }
    time.all += *ticks;
    time.busy += i == kIdle || i == kIoWait ? 0 : *ticks;
    time.softirq += i == kSoftIrq ? *ticks : 0;
  }
  return time;
}

double percent(std::int64_t part, std::int64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

CoreTimes core_times_in(std::string_view stat) {
  CoreTimes times;
  // The cores stand first; the thousands of words after them are interrupts.
  for (const std::string& line : lines_of(stat.substr(0, stat.find("\nintr")))) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || !words.front().starts_with("cpu") || words.front() == "cpu") {
      continue;
    }
    const std::optional<std::int64_t> core = number_of(std::string_view(words.front()).substr(3));
    const std::optional<CoreTime> time = core_time_of(words);
    if (core && time) {
      times.emplace(static_cast<int>(*core), *time);
    }
  }
  return times;
}

Result<CoreTimes> read_core_times(const sys::Root& root) {
  const Result<std::string> text = root.read(kStat);
  if (!text) {
    return std::unexpected(text.error());
  }
  return core_times_in(*text);
}

std::optional<BusiestCores> busiest(const CoreTimes& before, const CoreTimes& after) {
  std::optional<BusiestCores> found;
  for (const auto& [core, now] : after) {
    const auto then = before.find(core);
    if (then == before.end() || now.all <= then->second.all) {
      continue;
    }
    const std::int64_t all = now.all - then->second.all;
    const double softirq = percent(now.softirq - then->second.softirq, all);
    const double busy = percent(now.busy - then->second.busy, all);
    found = found ? found : BusiestCores{.softirq_core = core};
    if (softirq > found->softirq_percent) {
      found->softirq_core = core;
      found->softirq_percent = softirq;
    }
    found->busy_percent = std::max(found->busy_percent, busy);
  }
  return found;
}

}  // namespace chokepoint::host
