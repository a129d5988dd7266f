// Lists as Slurm writes them. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace chokepoint::probe::collective {

// The most tasks that one host has: "2(x3),5" has 5.
std::optional<int> most_tasks(std::string_view list);

}  // namespace chokepoint::probe::collective
