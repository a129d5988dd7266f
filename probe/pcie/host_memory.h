// Host memory on a NUMA node, whatever a container allows: bound where that may be, else first
// touched by a thread that runs there. And the calling thread on a node's processors while its
// copies are timed, because the processor copies what is not pinned.
#pragma once

#include <sched.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/host/memory.h"
#include "base/sys/pages.h"
#include "base/sys/root.h"

namespace chokepoint::probe::pcie {

struct Node {
  int number = 0;
  std::vector<int> cpus = {};
};

// The nodes that have processors and memory; empty where the kernel tells of none.
std::vector<Node> nodes_of(const host::Memory& memory);

// Nothing: wherever the kernel puts it.
using TakePages =
    std::function<Result<sys::Pages>(std::uint64_t bytes, const std::optional<Node>& node)>;
Result<sys::Pages> take_pages(std::uint64_t bytes, const std::optional<Node>& node);

// The processors that this process may use; a job started from the same shell may use the same.
std::vector<int> allowed_cpus();

// Restores the thread's processors when it goes. Does nothing where it may not use any of these.
class OnCpus {
 public:
  explicit OnCpus(const std::vector<int>& cpus);
  OnCpus(const OnCpus&) = delete;
  OnCpus& operator=(const OnCpus&) = delete;
  ~OnCpus();
  bool moved() const { return moved_; }

 private:
  cpu_set_t before_{};
  bool moved_ = false;
};

}  // namespace chokepoint::probe::pcie
