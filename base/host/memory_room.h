// How much memory this process may still take. A container's limit is not in /proc/meminfo, and
// whoever takes more than it allows is ended by the kernel. Reads under the given root only.
#pragma once

#include <cstdint>
#include <optional>

#include "base/sys/root.h"

namespace chokepoint::host {

// The least of what the host has available and what each cgroup around this process leaves; nothing
// where the kernel tells of neither.
std::optional<std::int64_t> memory_room(const sys::Root& root);

// Of one NUMA node, for what is bound to it: the kernel ends processes rather than take another's.
std::optional<std::int64_t> memory_room_of_node(const sys::Root& root, int node);

}  // namespace chokepoint::host
