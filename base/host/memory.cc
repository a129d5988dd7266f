#include "base/host/memory.h"

#include <string_view>

#include "base/host/fact_list.h"
#include "base/host/words.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kMemInfo = "/proc/meminfo";
constexpr std::string_view kNodes = "/sys/devices/system/node";
constexpr std::string_view kTransparent = "/sys/kernel/mm/transparent_hugepage/enabled";
constexpr std::int64_t kKibibyte = 1024;

// The number after "key:" in a file like /proc/meminfo. A node's own begins "Node 0 MemTotal:".
std::optional<std::int64_t> value_of(const std::string& meminfo, std::string_view key) {
  for (const std::string& line : lines_of(meminfo)) {
    const std::vector<std::string> words = words_of(line, " \t:");
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == key) {
        return number_of(words[i + 1]);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> kibibytes(const std::string& meminfo, std::string_view key) {
  const std::optional<std::int64_t> value = value_of(meminfo, key);
  return value ? std::optional(*value * kKibibyte) : std::nullopt;
}

std::string node_folder(const std::string& name) { return fmt::format("{}/{}", kNodes, name); }

bool is_node(const std::string& name) {
  return name.starts_with("node") && number_of(std::string_view(name).substr(4)).has_value();
}

NumaNode read_node(const sys::Root& root, const std::string& name) {
  NumaNode node{.name = name, .cpus = {}, .memory_bytes = {}};
  if (root.exists(node_folder(name) + "/cpulist")) {
    node.cpus = root.text(node_folder(name) + "/cpulist").value_or("");
  }
  if (const Result<std::string> meminfo = root.read(node_folder(name) + "/meminfo")) {
    node.memory_bytes = kibibytes(*meminfo, "MemTotal");
  }
  return node;
}

}  // namespace

Memory read_memory(const sys::Root& root) {
  Memory memory;
  if (const Result<std::string> meminfo = root.read(kMemInfo)) {
    memory.total_bytes = kibibytes(*meminfo, "MemTotal");
    memory.available_bytes = kibibytes(*meminfo, "MemAvailable");
    memory.huge_page_bytes = kibibytes(*meminfo, "Hugepagesize");
    memory.huge_pages = value_of(*meminfo, "HugePages_Total");
    memory.free_huge_pages = value_of(*meminfo, "HugePages_Free");
  }
  memory.transparent_huge_pages = root.text(kTransparent);
  for (const std::string& name : root.list(kNodes)) {
    if (is_node(name)) {
      memory.nodes.push_back(read_node(root, name));
    }
  }
  return memory;
}

void append_facts(const Memory& memory, Facts& facts) {
  FactList list(facts, "memory");
  list.add("total_bytes", memory.total_bytes, kMemInfo);
  list.add("available_bytes", memory.available_bytes, kMemInfo);
  list.add("huge_page_bytes", memory.huge_page_bytes, kMemInfo);
  list.add("huge_pages", memory.huge_pages, kMemInfo);
  list.add("free_huge_pages", memory.free_huge_pages, kMemInfo);
  list.add("transparent_huge_pages", memory.transparent_huge_pages, kTransparent);
  for (const NumaNode& node : memory.nodes) {
    FactList one(facts, "numa", node.name);
    one.add("cpus", node.cpus, node_folder(node.name) + "/cpulist");
    one.add("memory_bytes", node.memory_bytes, node_folder(node.name) + "/meminfo");
  }
}

}  // namespace chokepoint::host
