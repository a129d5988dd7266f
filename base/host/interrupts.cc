#include "base/host/interrupts.h"

#include <fmt/format.h>

#include <charconv>
#include <ranges>

namespace chokepoint::host {
namespace {

constexpr std::string_view kBlank = " \t";

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(word.size());
  return word;
}

template <class T>
std::optional<T> number_in(std::string_view word) {
  T value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) {
    return std::nullopt;
  }
  return value;
}

// " 45:  123  456  PCI-MSI 524288-edge  eth0-TxRx-0"
std::optional<Interrupt> parse_line(std::string_view line) {
  std::string_view label = next_word(line);
  if (!label.ends_with(':')) {
    return std::nullopt;
  }
  label.remove_suffix(1);
  const std::optional<int> number = number_in<int>(label);
  if (!number) {
    return std::nullopt;
  }
  Interrupt interrupt{.number = *number, .name = {}, .counts = {}, .cpus = {}};
  std::string_view word = next_word(line);
  while (const std::optional<std::int64_t> count = number_in<std::int64_t>(word)) {
    interrupt.counts.push_back(*count);
    word = next_word(line);
  }
  for (; !word.empty(); word = next_word(line)) {
    interrupt.name = word;
  }
  return interrupt;
}

std::optional<CpuSet> cpus_of(const sys::Root& root, int number) {
  for (const std::string_view file : {"effective_affinity_list", "smp_affinity_list"}) {
    if (const auto text = root.text(fmt::format("/proc/irq/{}/{}", number, file))) {
      return parse_cpu_list(*text);
    }
  }
  return std::nullopt;
}

}  // namespace

InterruptTable parse_interrupts(std::string_view text) {
  InterruptTable table;
  for (const auto part : std::views::split(text, '\n')) {
    if (auto interrupt = parse_line(std::string_view(part.begin(), part.end()))) {
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
    interrupt.cpus = cpus_of(root, number);
    interrupts.push_back(std::move(interrupt));
  }
  return interrupts;
}

}  // namespace chokepoint::host
