// The folder in which NCCL's plugin writes its rings: private, in memory if possible, and removed
// by its owner. A chokepoint that was killed leaves its folder behind, unlocked, and the next one
// removes it. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::capture::nccl {

// NCCL's plugin. Where it is carried in memory, a link of this name in the folder leads to it.
inline constexpr const char* kPluginFile = "libnccl-profiler-chokepoint.so";

// Whether a mapped file on a file system of this type (statfs(2)) can always be written where space
// was reserved, however full it is. Copy-on-write ones may have no space for a block's second
// version, and then SIGBUS ends the process that writes; network file systems and FUSE give no
// guarantee.
bool keeps_reserved_room(std::uint64_t type);

class Folder {
 public:
  // In `memory`, if at least that much of it is left for the job; else below `below`, else in /tmp.
  // A container may have as little as 64 MB of it, and a job whose own libraries find none left
  // fails.
  static constexpr std::uint64_t kMinLeft = std::uint64_t{256} << 20U;
  static Result<Folder> make(const std::filesystem::path& below,
                             const std::filesystem::path& memory = "/dev/shm",
                             std::uint64_t min_left = kMinLeft);
  static Result<Folder> make_in(const std::filesystem::path& below);
  Folder(Folder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  Folder& operator=(Folder&&) = delete;
  ~Folder();

  const std::filesystem::path& path() const { return path_; }

 private:
  Folder(std::filesystem::path path, sys::Descriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  sys::Descriptor lock_;  // held while it lives
};

}  // namespace chokepoint::capture::nccl
