// The file systems that this process sees, from /proc/self/mountinfo, and the disks below them.
// Reads under the given root only; pure otherwise; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/fact.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct Mount {
  std::string point = {};   // "/data"
  std::string type = {};    // "ext4", "nfs4", "fuse.sshfs"
  std::string source = {};  // "/dev/nvme0n1p2", "server:/export"
  std::string device = {};  // "259:2", as the kernel numbers it
  std::string disk = {};    // "nvme0n1"; of read_mounts() alone, and empty without one
  bool is_read_only = false;
  std::optional<std::int64_t> size_bytes = {};  // that a file system in memory was limited to
  std::optional<std::int64_t> free_bytes = {};  // of read_mounts() alone, of shared memory

  bool is_remote() const;     // on another host
  bool is_in_memory() const;  // nothing of it is on a disk
};

// Where programs share memory, NCCL and loaders of data among them.
inline constexpr std::string_view kSharedMemory = "/dev/shm";

// The kernel writes blanks, tabs, line ends and backslashes of a path as \040.
std::string unescaped(std::string_view text);

// In the kernel's order; of two at one point the later one hides the other.
std::vector<Mount> mounts_in(std::string_view mountinfo);
std::vector<Mount> read_mounts(const sys::Root& root);

// Of those that hold files of their own: disks, other hosts', and programs'.
void append_facts(std::span<const Mount> mounts, Facts& facts);

// The one that a path without symbolic links lies on; nullptr of none.
const Mount* mount_of(std::span<const Mount> mounts, std::string_view path);

// What another process's files lie on. Their paths in /proc/PID/fd are as this process sees them,
// but the mounts in /proc/PID/mountinfo as that one does: only those below its root folder, by
// paths from there.
//
//   in this mount namespace, also in a chroot    own mounts, paths as they are
//   in another one, as of a container            its mounts, paths from its root folder on
struct ProcessMounts {
  std::vector<Mount> mounts = {};
  std::string root_folder = {};  // that paths begin with; empty: none

  const Mount* of(std::string_view file) const;
};

ProcessMounts mounts_of_process(const sys::Root& root, pid_t pid);
// The folder in /proc whose mountinfo and mountstats have them: "/proc/self" or "/proc/17".
std::string mounts_folder_of(const sys::Root& root, pid_t pid);

struct Disk {
  std::string name = {};  // "nvme0n1", also of its partitions
  std::string model = {};
  std::optional<bool> is_rotational = {};
};

// nullopt of file systems without a disk of their own.
std::optional<Disk> disk_of(const sys::Root& root, const Mount& mount);

}  // namespace chokepoint::host
