// Sets of CPUs as the kernel writes them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chokepoint::host {

using CpuSet = std::vector<int>;  // sorted, each once

std::optional<CpuSet> parse_cpu_list(std::string_view text);  // "0-3,8"
std::optional<CpuSet> parse_cpu_mask(std::string_view text);  // "ffffffff,00000001"
std::string format_cpu_list(const CpuSet& cpus);

}  // namespace chokepoint::host
