#include "capture/counter/process_stat.h"

#include <unistd.h>

#include "capture/counter/words.h"

namespace chokepoint::capture::counter {

// "4711 (a name) R 1 …": the name may hold anything, so columns count from the last bracket.
std::optional<ProcessStat> process_stat_in(std::string_view text) {
  constexpr std::size_t kUserTime = 11;  // after the bracket; proc(5) calls it 14
  constexpr std::size_t kBetweenTimesAndMemory = 8;
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string_view::npos) {
    return std::nullopt;
  }
  Words words(text.substr(bracket + 1));
  words.skip(kUserTime);
  const std::optional<std::uint64_t> user = number_in(words.next());
  const std::optional<std::uint64_t> system = number_in(words.next());
  words.skip(kBetweenTimesAndMemory);
  const std::optional<std::uint64_t> pages = number_in(words.next());
  if (!user || !system || !pages) {
    return std::nullopt;
  }
  const auto tick_ns = 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return ProcessStat{.cpu_ns = (*user + *system) * tick_ns,
                     .memory_bytes = *pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))};
}

}  // namespace chokepoint::capture::counter
