// The first host of a list as Slurm writes it: "gpu[007-009,12],login1" begins with gpu007. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chokepoint::probe::collective {

std::optional<std::string> first_node(std::string_view list);

}  // namespace chokepoint::probe::collective
