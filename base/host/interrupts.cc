#include "base/host/interrupts.h"

#include <fmt/format.h>

#include "base/host/words.h"

namespace chokepoint::host {
namespace {

// " 45:  123  456  PCI-MSI 524288-edge  eth0-TxRx-0"
std::optional<Interrupt> parse_line(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  if (words.empty() || !words[0].ends_with(':')) {
    return std::nullopt;
  }
  const auto number = number_of(words[0].substr(0, words[0].size() - 1));
  if (!number) {
    return std::nullopt;
  }
  Interrupt interrupt{.number = static_cast<int>(*number)};
  std::size_t at = 1;
  for (; at < words.size(); ++at) {
    const auto count = number_of(words[at]);
    if (!count) {
      break;
    }
    interrupt.counts.push_back(*count);
  }
  interrupt.name = at < words.size() ? words.back() : "";
  return interrupt;
}

std::optional<CpuSet> read_cpus(const sys::Root& root, int number) {
  for (const std::string_view file : {"effective_affinity_list", "smp_affinity_list"}) {
    if (const auto text = root.text(fmt::format("/proc/irq/{}/{}", number, file))) {
      return cpus_of(*text);
    }
  }
  return std::nullopt;
}

}  // namespace

InterruptTable parse_interrupts(std::string_view text) {
  InterruptTable table;
  for (const std::string& line : lines_of(text)) {
    if (auto interrupt = parse_line(line)) {
      table.emplace(interrupt->number, std::move(*interrupt));
    }
  }
  return table;
}

InterruptTable read_interrupts(const sys::Root& root) {
  return parse_interrupts(root.read("/proc/interrupts").value_or(""));
}

std::vector<Interrupt> read_affinity(const sys::Root& root, const InterruptTable& table,
                                     const std::vector<int>& numbers) {
  std::vector<Interrupt> interrupts;
  for (const int number : numbers) {
    const auto known = table.find(number);
    Interrupt interrupt = known == table.end() ? Interrupt{.number = number} : known->second;
    interrupt.cpus = read_cpus(root, number);
    interrupts.push_back(std::move(interrupt));
  }
  return interrupts;
}

}  // namespace chokepoint::host
