#include "probe/pcie/host_memory.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <thread>

#include "base/host/kernel_text.h"

namespace chokepoint::probe::pcie {
namespace {

bool was_forbidden(const Error& error) {
  return error.code == ENOSYS || error.code == EPERM || error.code == EACCES;
}

Result<sys::Pages> touch_from(const Node& node, std::uint64_t bytes, const Error& error) {
  std::optional<Result<sys::Pages>> pages;
  std::thread([&] {
    const OnCpus on_node(node.cpus);
    if (on_node.moved()) {
      pages.emplace(sys::Pages::map(bytes, {}));
    }
  }).join();
  return pages ? std::move(*pages) : Result<sys::Pages>(fail(error));
}

}  // namespace

std::vector<Node> nodes_of(const host::Memory& memory) {
  std::vector<Node> nodes;
  for (const host::NumaNode& node : memory.nodes) {
    constexpr std::string_view kPrefix = "node";
    const auto number = node.name.starts_with(kPrefix)
                            ? host::number_of(std::string_view(node.name).substr(kPrefix.size()))
                            : std::nullopt;
    std::vector<int> cpus = host::cpus_of(node.cpus.value_or(""));
    if (number && !cpus.empty() && node.memory_bytes.value_or(1) > 0) {
      nodes.push_back({.number = static_cast<int>(*number), .cpus = std::move(cpus)});
    }
  }
  return nodes;
}

Result<sys::Pages> take_pages(std::uint64_t bytes, const std::optional<Node>& node) {
  if (!node) {
    return sys::Pages::map(bytes, {});
  }
  auto pages = sys::Pages::map(bytes, {.numa_node = node->number});
  return pages || !was_forbidden(pages.error()) ? std::move(pages)
                                                : touch_from(*node, bytes, pages.error());
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) {
        cpus.push_back(cpu);
      }
    }
  }
  return cpus;
}

OnCpus::OnCpus(const std::vector<int>& cpus) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
      CPU_SET(static_cast<std::size_t>(cpu), &wanted);
    }
  }
  moved_ = sched_getaffinity(0, sizeof before_, &before_) == 0 &&
           sched_setaffinity(0, sizeof wanted, &wanted) == 0;
}

OnCpus::~OnCpus() {
  if (moved_) {
    sched_setaffinity(0, sizeof before_, &before_);
  }
}

}  // namespace chokepoint::probe::pcie
