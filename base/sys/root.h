// The folder that stands for "/" when /proc, /sys and /etc are read. Everything that looks at the
// host is given one, so tests read fixtures and `doctor --root` reads a copy of another host's
// trees. A value; reads only; safe on any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::sys {

class Root {
 public:
  Root() : Root("/") {}
  explicit Root(std::filesystem::path folder);

  // False for a copy: what only the running kernel has (ioctl, netlink) is then not asked for.
  bool is_live() const { return live_; }
  const std::filesystem::path& folder() const { return folder_; }

  // Paths below are as on the host: "/sys/class/net/eth0/mtu".
  std::filesystem::path at(std::string_view path) const;
  bool exists(std::string_view path) const;

  // The whole file; at most 16 MiB, so that a wrong path cannot eat the memory.
  Result<std::string> read(std::string_view path) const;
  // The file without white space at its ends; nothing where it is missing, unreadable or empty.
  std::optional<std::string> text(std::string_view path) const;
  std::optional<std::int64_t> number(std::string_view path) const;
  // Sorted names in a folder; empty where there is no such folder.
  std::vector<std::string> list(std::string_view path) const;
  // Where a symbolic link or path leads in the end, as a path of the host; nothing where it does
  // not exist or would leave the root.
  std::optional<std::string> resolve(std::string_view path) const;
  // The target of a symbolic link. It is not looked at, which might not answer: a file system on
  // another host.
  std::optional<std::string> link_target(std::string_view path) const;

 private:
  std::filesystem::path folder_;
  bool live_;
};

// What this host calls itself. Any thread.

// "unknown" where a copied host does not say.
std::string host_name(const Root& root);

// What earlier runs left in a folder that many share, such as /tmp: each entry whose name begins in
// a way that is ours, looked at once. Any thread.

// Of a crowded folder no more than the first few thousand entries are looked at; what cannot be
// read is passed over. `visit` may remove the entry it is given.
void for_each_named(const std::filesystem::path& below, std::string_view prefix,
                    const std::function<void(const std::filesystem::path&)>& visit);

}  // namespace chokepoint::sys
