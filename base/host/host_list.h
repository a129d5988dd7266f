// Lists of hosts as Slurm writes them. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::host {

inline constexpr std::size_t kMostListedHosts = 65'536;

// "gpu[007-009,12],login1": gpu007, gpu008, gpu009, gpu12, login1. A name may have several
// brackets, of which the last counts fastest; a host named twice is there twice. No more than
// kMostListedHosts.
Result<std::vector<std::string>> hosts_of(std::string_view list);
// The first of them; nothing where it is not such a list.
std::optional<std::string> first_host(std::string_view list);

}  // namespace chokepoint::host
