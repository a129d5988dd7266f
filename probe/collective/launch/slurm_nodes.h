// Lists as Slurm writes them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chokepoint::probe::collective {

// The first host: "gpu[007-009,12],login1" begins with gpu007.
std::optional<std::string> first_node(std::string_view list);
// The most tasks that one host has: "2(x3),5" has 5.
std::optional<int> most_tasks(std::string_view list);

}  // namespace chokepoint::probe::collective
