#include "base/host/cpu_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ranges>

namespace chokepoint::host {
namespace {

// Far above any machine: a list that goes further is no list of CPUs.
constexpr int kMostCpus = 1 << 16;

std::optional<int> parse_cpu(std::string_view text) {
  int cpu = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  if (error != std::errc() || end != text.data() + text.size() || cpu < 0 || cpu >= kMostCpus) {
    return std::nullopt;
  }
  return cpu;
}

void sort_once(CpuSet& cpus) {
  std::ranges::sort(cpus);
  const auto [first, last] = std::ranges::unique(cpus);
  cpus.erase(first, last);
}

std::optional<int> parse_digit(char digit) {
  int value = 0;
  if (std::from_chars(&digit, &digit + 1, value, 16).ec != std::errc()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::optional<CpuSet> parse_cpu_list(std::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  CpuSet cpus;
  for (const auto part : std::views::split(text, ',')) {
    const std::string_view range(part.begin(), part.end());
    const std::size_t dash = range.find('-');
    const std::optional<int> first = parse_cpu(range.substr(0, dash));
    const std::optional<int> last =
        dash == std::string_view::npos ? first : parse_cpu(range.substr(dash + 1));
    if (!first || !last || *last < *first) {
      return std::nullopt;
    }
    for (int cpu = *first; cpu <= *last; ++cpu) {
      cpus.push_back(cpu);
    }
  }
  sort_once(cpus);
  return cpus;
}

std::optional<CpuSet> parse_cpu_mask(std::string_view text) {
  CpuSet cpus;
  int cpu = 0;
  for (const char digit : text | std::views::reverse) {
    if (digit == ',') {
      continue;
    }
    const std::optional<int> bits = parse_digit(digit);
    if (!bits || cpu >= kMostCpus) {
      return std::nullopt;
    }
    for (int bit = 0; bit < 4; ++bit) {
      if ((*bits >> bit & 1) != 0) {
        cpus.push_back(cpu + bit);
      }
    }
    cpu += 4;
  }
  return cpus;
}

std::string format_cpu_list(const CpuSet& cpus) {
  std::string text;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) {
      ++last;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[first]);
    if (last > first) {
      text += fmt::format("-{}", cpus[last]);
    }
    first = last + 1;
  }
  return text;
}

}  // namespace chokepoint::host
