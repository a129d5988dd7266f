#include "capture/job/stat_line.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace chokepoint::capture::job {
namespace {

// By proc(5), which counts from 1; the first two are the pid and the name.
enum Field : std::size_t {
  kState = 3,
  kParent = 4,
  kGroup = 5,
  kStartTicks = 22,
  kStack = 28,
  kArguments = 48,
  kArgumentsEnd = 49,
  kEnvironment = 50,
  kEnvironmentEnd = 51,
  kWaitStatus = 52,
};

using Words = std::array<std::string_view, kWaitStatus + 1>;

template <class T>
T number_of(std::string_view text) {
  T number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// How many there were, counted as proc(5) does.
std::size_t split(std::string_view text, Words& words) {
  std::size_t count = kState;
  while (!text.empty() && count < words.size()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    words[count++] = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return count - 1;
}

}  // namespace

std::optional<StatLine> parse_stat(std::string_view line) {
  // The name may hold spaces and brackets, so up to the last one.
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(") ");
  Words words;
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      split(line.substr(close + 2), words) < kStartTicks || words[kState].empty()) {
    return std::nullopt;
  }
  return StatLine{.name = std::string(line.substr(open + 1, close - open - 1)),
                  .state = words[kState][0],
                  .parent = number_of<pid_t>(words[kParent]),
                  .group = number_of<pid_t>(words[kGroup]),
                  .start_ticks = number_of<std::uint64_t>(words[kStartTicks]),
                  .stack = number_of<std::uint64_t>(words[kStack]),
                  .arguments = number_of<std::uint64_t>(words[kArguments]),
                  .arguments_end = number_of<std::uint64_t>(words[kArgumentsEnd]),
                  .environment = number_of<std::uint64_t>(words[kEnvironment]),
                  .environment_end = number_of<std::uint64_t>(words[kEnvironmentEnd]),
                  .wait_status = number_of<int>(words[kWaitStatus])};
}

std::optional<StatLine> read_stat(const sys::Root& root, pid_t pid) {
  const Result<std::string> line = root.read("/proc/" + std::to_string(pid) + "/stat");
  return line ? parse_stat(*line) : std::nullopt;
}

std::vector<pid_t> pids_below(const sys::Root& root, std::string_view folder) {
  std::vector<pid_t> pids;
  for (const std::string& name : root.list(folder)) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size() && pid > 0) {
      pids.push_back(pid);
    }
  }
  std::ranges::sort(pids);
  return pids;
}

}  // namespace chokepoint::capture::job
