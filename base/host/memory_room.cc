#include "base/host/memory_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/memory.h"
#include "base/host/words.h"

namespace chokepoint::host {
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
  constexpr std::int64_t kKibibyte = 1024;
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
