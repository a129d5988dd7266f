// The small forms in which the kernel writes lists: words apart by white space, lines, and sets of
// CPUs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/number.h"

namespace chokepoint::host {

std::vector<std::string> words_of(std::string_view text, std::string_view separators = " \t\r\n");
std::vector<std::string> lines_of(std::string_view text);

// "0-3,8": the numbers in it. Empty where it is not such a list.
std::vector<int> cpus_of(std::string_view list);
// And back: {0, 1, 2, 5} is "0-2,5".
std::string list_of_cpus(const std::vector<int>& cpus);

// The whole of text as a number; nothing where it is anything else.
inline std::optional<std::int64_t> number_of(std::string_view text, int base = 10) {
  return sys::parse_number<std::int64_t>(text, base);
}

// What stands behind the last slash.
std::string last_part(std::string_view path);

}  // namespace chokepoint::host
