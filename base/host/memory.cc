#include "base/host/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/fact.h"
#include "base/host/kernel_text.h"

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

namespace {

// What a version's files are called, and where it may be mounted.
struct Version {
  std::string_view limit;
  std::string_view used;
  std::array<std::string_view, 2> files;  // in memory.stat: what the kernel gives up when asked
  std::array<std::string_view, 2> mounts;
};

constexpr Version kFirst{.limit = "/memory.limit_in_bytes",
                         .used = "/memory.usage_in_bytes",
                         .files = {"total_inactive_file", "total_active_file"},
                         .mounts = {"/sys/fs/cgroup/memory", ""}};
constexpr Version kSecond{.limit = "/memory.max",
                          .used = "/memory.current",
                          .files = {"inactive_file", "active_file"},
                          .mounts = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}};

std::int64_t files_in(const std::string& statistics, const Version& version) {
  std::int64_t sum = 0;
  for (const std::string& line : lines_of(statistics)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() == 2 && std::ranges::count(version.files, words[0]) > 0) {
      sum += number_of(words[1]).value_or(0);
    }
  }
  return sum;
}

std::optional<std::int64_t> room_in(const sys::Root& root, const std::string& folder,
                                    const Version& version) {
  const auto limit = root.number(folder + std::string(version.limit));
  const auto used = root.number(folder + std::string(version.used));
  if (!limit || !used) {
    return std::nullopt;
  }
  const auto statistics = root.read(folder + "/memory.stat");
  const std::int64_t files = statistics ? files_in(*statistics, version) : 0;
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, *used - files));
}

void lower(std::optional<std::int64_t>& least, const std::optional<std::int64_t>& room) {
  if (room) {
    least = std::min(least.value_or(*room), *room);
  }
}

// This cgroup and those above it. In a container the mount's top may be the container's own.
void look_from(const sys::Root& root, std::string path, const Version& version,
               std::optional<std::int64_t>& least) {
  while (true) {
    for (const std::string_view mount : version.mounts) {
      if (!mount.empty()) {
        lower(least, room_in(root, std::string(mount) + path, version));
      }
    }
    if (path.empty()) {
      return;
    }
    path.resize(std::min(path.find_last_of('/'), path.size() - 1));
  }
}

// "4:memory:/a/b", "0::/a/b".
void look_at_line(const sys::Root& root, std::string_view line,
                  std::optional<std::int64_t>& least) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) {
    return;
  }
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const std::string path(line.substr(second + 1));
  if (controllers.empty()) {
    look_from(root, path, kSecond, least);
  } else if (controllers == "memory" || controllers.contains("memory,") ||
             controllers.ends_with(",memory")) {
    look_from(root, path, kFirst, least);
  }
}

// "Node 0 MemFree: 123 kB": free, and files that the kernel gives up when asked.
std::optional<std::int64_t> room_in_line(const std::string& line) {
  constexpr std::array<std::string_view, 3> kRoom = {"MemFree", "Active(file)", "Inactive(file)"};
  const std::vector<std::string> words = words_of(line, " \t:");
  const auto kibibytes = words.size() >= 4 && std::ranges::count(kRoom, words[2]) > 0
                             ? number_of(words[3])
                             : std::nullopt;
  return kibibytes ? std::optional(*kibibytes * kKibibyte) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> memory_room(const sys::Root& root) {
  std::optional<std::int64_t> least = read_memory(root).available_bytes;
  if (const Result<std::string> cgroups = root.read("/proc/self/cgroup")) {
    for (const std::string& line : lines_of(*cgroups)) {
      look_at_line(root, line, least);
    }
  }
  return least;
}

std::optional<std::int64_t> memory_room_of_node(const sys::Root& root, int node) {
  const auto meminfo = root.read(fmt::format("/sys/devices/system/node/node{}/meminfo", node));
  std::optional<std::int64_t> sum;
  for (const std::string& line : lines_of(meminfo.value_or(""))) {
    if (const auto room = room_in_line(line)) {
      sum = sum.value_or(0) + *room;
    }
  }
  return sum;
}

}  // namespace chokepoint::host
