#include "base/host/mounts.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>

#include "base/host/kernel_text.h"

namespace chokepoint::host {
namespace {

constexpr std::size_t kMaxMounts = 10'000;
constexpr std::string_view kMountInfo = "/proc/self/mountinfo";

std::string_view next_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

bool has_option(std::string_view options, std::string_view wanted) {
  while (!options.empty()) {
    const std::size_t end = std::min(options.find(','), options.size());
    if (options.substr(0, end) == wanted) {
      return true;
    }
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return false;
}

// "size=65536k" of a tmpfs: the kernel writes kibibytes, whatever it was given.
std::optional<std::int64_t> size_in(std::string_view options) {
  constexpr std::string_view kSize = "size=";
  constexpr std::int64_t kKibi = 1024;
  for (const std::string& option : words_of(options, ",")) {
    if (option.starts_with(kSize) && option.ends_with('k')) {
      const auto kibibytes = number_of(
          std::string_view(option).substr(kSize.size(), option.size() - kSize.size() - 1));
      return kibibytes && *kibibytes > 0 && *kibibytes < INT64_MAX / kKibi
                 ? std::optional(*kibibytes * kKibi)
                 : std::nullopt;
    }
  }
  return std::nullopt;
}

// "36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda1 rw": proc_pid_mountinfo(5).
std::optional<Mount> mount_in(std::string_view line) {
  constexpr std::string_view kSeparator = " - ";
  const std::size_t separator = line.find(kSeparator);
  if (separator == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view head = line.substr(0, separator);
  std::string_view tail = line.substr(separator + kSeparator.size());
  next_word(head);  // its number
  next_word(head);  // that of the mount above
  Mount mount{.device = std::string(next_word(head))};
  next_word(head);  // the part of the file system that is mounted
  mount.point = unescaped(next_word(head));
  mount.is_read_only = has_option(next_word(head), "ro");
  mount.type = std::string(next_word(tail));
  mount.source = unescaped(next_word(tail));
  const std::string_view options = next_word(tail);
  mount.is_read_only = mount.is_read_only || has_option(options, "ro");
  mount.size_bytes = mount.is_in_memory() ? size_in(options) : std::nullopt;
  return mount.point.starts_with('/') && !mount.type.empty() ? std::optional(mount) : std::nullopt;
}

std::optional<std::int64_t> free_bytes_of(const std::string& point) {
  struct statvfs status = {};
  if (statvfs(point.c_str(), &status) != 0) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

bool is_below(std::string_view path, std::string_view point) {
  return point == "/" || path == point ||
         (path.starts_with(point) && path.size() > point.size() && path[point.size()] == '/');
}

}  // namespace

std::string unescaped(std::string_view text) {
  const auto is_octal = [](char digit) { return digit >= '0' && digit <= '7'; };
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 3 < text.size() && is_octal(text[at + 1]) &&
        is_octal(text[at + 2]) && is_octal(text[at + 3])) {
      plain += static_cast<char>((text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 +
                                 (text[at + 3] - '0'));
      at += 3;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

bool Mount::is_remote() const {
  constexpr std::array<std::string_view, 12> kRemote{
      "nfs",    "nfs4",   "cifs",      "smb3",           "9p",  "ceph",
      "lustre", "beegfs", "glusterfs", "fuse.glusterfs", "afs", "fuse.sshfs"};
  return std::ranges::count(kRemote, type) > 0;
}

bool Mount::is_in_memory() const { return type == "tmpfs" || type == "ramfs" || type == "rootfs"; }

std::vector<Mount> mounts_in(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  while (!mountinfo.empty() && mounts.size() < kMaxMounts) {
    const std::size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    if (auto mount = mount_in(mountinfo.substr(0, end))) {
      mounts.push_back(std::move(*mount));
    }
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
  }
  return mounts;
}

std::vector<Mount> read_mounts(const sys::Root& root) {
  std::vector<Mount> mounts = mounts_in(root.text(kMountInfo).value_or(""));
  for (Mount& mount : mounts) {
    if (auto disk = disk_of(root, mount)) {
      mount.disk = std::move(disk->name);
    }
    // Of others it is not asked: a file system on another host may not answer.
    if (root.is_live() && mount.point == kSharedMemory && mount.is_in_memory()) {
      mount.free_bytes = free_bytes_of(mount.point);
    }
  }
  return mounts;
}

void append_facts(std::span<const Mount> mounts, Facts& facts) {
  constexpr std::size_t kMaxListedMounts = 64;
  std::size_t count = 0;
  for (const Mount& mount : mounts) {
    const bool is_programs = mount.type.starts_with("fuse") && mount.type != "fusectl";
    if ((mount.source.starts_with('/') || mount.is_remote() || is_programs) &&
        count++ < kMaxListedMounts) {
      FactList list(facts, "mount", mount.point);
      list.add_text("type", mount.type, kMountInfo);
      list.add_text("source", mount.source, kMountInfo);
      list.add_text("is_remote", mount.is_remote() ? "true" : "false", kMountInfo);
      if (!mount.disk.empty()) {
        list.add_text("disk", mount.disk, "/sys/dev/block");
      }
    } else if (mount.point == kSharedMemory) {
      FactList list(facts, "mount", mount.point);
      list.add_text("type", mount.type, kMountInfo);
      list.add("size_bytes", mount.size_bytes, kMountInfo);
      list.add("free_bytes", mount.free_bytes, "statvfs");
    }
  }
}

const Mount* mount_of(std::span<const Mount> mounts, std::string_view path) {
  const Mount* found = nullptr;
  for (const Mount& mount : mounts) {
    if (is_below(path, mount.point) &&
        (found == nullptr || mount.point.size() >= found->point.size())) {
      found = &mount;
    }
  }
  return found;
}

const Mount* ProcessMounts::of(std::string_view file) const {
  if (root_folder.empty()) {
    return mount_of(mounts, file);
  }
  return is_below(file, root_folder) ? mount_of(mounts, file.substr(root_folder.size())) : nullptr;
}

std::string mounts_folder_of(const sys::Root& root, pid_t pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  const auto namespace_of = root.link_target(folder + "/ns/mnt");
  return namespace_of && namespace_of == root.link_target("/proc/self/ns/mnt") ? "/proc/self"
                                                                               : folder;
}

ProcessMounts mounts_of_process(const sys::Root& root, pid_t pid) {
  const std::string folder = mounts_folder_of(root, pid);
  ProcessMounts found{.mounts = mounts_in(root.text(folder + "/mountinfo").value_or(""))};
  if (folder != "/proc/self") {
    const std::string root_folder = root.link_target(folder + "/root").value_or("/");
    found.root_folder = root_folder == "/" ? "" : root_folder;
  }
  return found;
}

std::optional<Disk> disk_of(const sys::Root& root, const Mount& mount) {
  const auto folder = root.resolve("/sys/dev/block/" + mount.device);
  if (mount.device.empty() || !folder) {
    return std::nullopt;
  }
  const bool is_partition = root.exists(*folder + "/partition");
  const std::string whole = is_partition ? folder->substr(0, folder->rfind('/')) : *folder;
  Disk disk{.name = whole.substr(whole.rfind('/') + 1),
            .model = root.text(whole + "/device/model").value_or("")};
  if (const auto turns = root.number(whole + "/queue/rotational")) {
    disk.is_rotational = *turns != 0;
  }
  return disk;
}

}  // namespace chokepoint::host
