#include "base/host/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace chokepoint::host {

std::vector<std::string> words_of(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(separators, at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::vector<std::string> lines_of(std::string_view text) { return words_of(text, "\r\n"); }

std::vector<int> cpus_of(std::string_view list) {
  constexpr std::int64_t kMaxCpus = 1 << 16;
  std::vector<int> cpus;
  for (const std::string& range : words_of(list, ", \n")) {
    const std::size_t dash = range.find('-');
    const std::optional<std::int64_t> first = number_of(range.substr(0, dash));
    const std::optional<std::int64_t> last =
        dash == std::string::npos ? first : number_of(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last >= kMaxCpus) {
      return {};
    }
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) {
      cpus.push_back(static_cast<int>(cpu));
    }
  }
  return cpus;
}

std::string list_of_cpus(const std::vector<int>& cpus) {
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

std::string last_part(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

}  // namespace chokepoint::host
