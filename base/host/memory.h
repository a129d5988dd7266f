// Memory: how much, on which NUMA node with which CPUs, and what is set aside for huge pages. Reads
// under the given root only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host/fact.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct NumaNode {
  std::string name;                 // node0
  std::optional<std::string> cpus;  // "0-15,32-47"; empty text is none
  std::optional<std::int64_t> memory_bytes;
};

struct Memory {
  std::optional<std::int64_t> total_bytes;
  std::optional<std::int64_t> available_bytes;
  std::optional<std::int64_t> huge_page_bytes;  // the size of one
  std::optional<std::int64_t> huge_pages;       // set aside
  std::optional<std::int64_t> free_huge_pages;
  std::optional<std::string> transparent_huge_pages;  // always [madvise] never
  std::vector<NumaNode> nodes;                        // empty where the kernel lists none
};

Memory read_memory(const sys::Root& root);
void append_facts(const Memory& memory, Facts& facts);

// How much memory this process may still take. A container's limit is not in /proc/meminfo, and
// a process that takes more than it allows is killed by the kernel. Reads under the given root
// only.

// The least of what the host has available and what each cgroup around this process leaves; nothing
// where the kernel reports neither.
std::optional<std::int64_t> memory_room(const sys::Root& root);

// Of one NUMA node, for what is bound to it: the kernel ends processes rather than take another's.
std::optional<std::int64_t> memory_room_of_node(const sys::Root& root, int node);

}  // namespace chokepoint::host
