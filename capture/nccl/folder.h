// The folder in which NCCL's plugin leaves its rings: nobody else's, in memory where possible, and
// gone with its owner. Who was killed leaves his behind, unlocked, and the next one takes it away.
// One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::capture::nccl {

// Whether a file system of this type (statfs(2)) gives what it has reserved for a mapped file
// however full it is. Those that write a block anew elsewhere may have no room for the second time
// and end the process that writes; of what lies on another host or in another program nobody knows.
bool keeps_reserved_room(std::uint64_t type);

class Folder {
 public:
  // In memory, where at least so much of that is left for the job; else below `below`, else in
  // /tmp. A container may have no more than 64 MB of it, and a job whose own libraries find none
  // left dies.
  static constexpr std::uint64_t kLeastLeft = std::uint64_t{256} << 20U;
  static Result<Folder> make(const std::filesystem::path& below,
                             const std::filesystem::path& memory = "/dev/shm",
                             std::uint64_t least_left = kLeastLeft);
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
