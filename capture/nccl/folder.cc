#include "capture/nccl/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include "base/sys/root.h"
#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "chokepoint-nccl-";
constexpr int kMaxTries = 8;

sys::Descriptor locked(const fs::path& folder) {
  sys::Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    lock.reset();
  }
  return lock;
}

// Temporary folders are everybody's: whose folder it is that was opened, not what has its name.
bool is_own(const sys::Descriptor& folder) {
  struct stat status{};
  return ::fstat(folder.get(), &status) == 0 && status.st_uid == ::geteuid();
}

// Removes the plugin's files only, and the folder if nothing else is in it. Files are removed from
// the folder that was opened: another may have got its name meanwhile.
void take_away(const sys::Descriptor& lock, const fs::path& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listed(
      ::fdopendir(::openat(lock.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), &::closedir);
  for (const dirent* at = listed ? ::readdir(listed.get()) : nullptr; at != nullptr;
       at = ::readdir(listed.get())) {
    const std::string_view name(at->d_name);
    if (name.ends_with(kFileSuffix) || name == kPluginFile) {
      ::unlinkat(lock.get(), at->d_name, 0);
    }
  }
  ::rmdir(folder.c_str());
}

void remove_left_overs(const fs::path& below) {
  sys::for_each_named(below, kPrefix, [](const fs::path& folder) {
    if (const sys::Descriptor lock = locked(folder); lock && is_own(lock)) {
      take_away(lock, folder);
    }
  });
}

bool is_still_there(const fs::path& folder, const sys::Descriptor& lock) {
  struct stat by_name{};
  struct stat by_lock{};
  return ::lstat(folder.c_str(), &by_name) == 0 && ::fstat(lock.get(), &by_lock) == 0 &&
         by_name.st_ino == by_lock.st_ino && by_name.st_dev == by_lock.st_dev;
}

bool is_safe_to_map(const fs::path& folder) {
  struct statfs status{};
  return ::statfs(folder.c_str(), &status) !=
             0 ||  // the error is reported when nothing can be created there
         keeps_reserved_room(static_cast<std::uint32_t>(status.f_type));
}

Result<Folder> make_on_disk(const fs::path& below) {
  if (!is_safe_to_map(below)) {
    return fail(ErrorKind::Unsupported, "watch NCCL", below.string(),
                "a full file system of this type would end the job",
                "set TMPDIR to a folder in memory or on ext4 or xfs");
  }
  return Folder::make_in(below);
}

}  // namespace

bool keeps_reserved_room(std::uint64_t type) {
  constexpr std::array<std::uint64_t, 8> kNot{
      0x9123683e,  // btrfs
      0x2fc12fc1,  // zfs
      0xca451a4e,  // bcachefs
      0x65735546,  // fuse
      0x6969,      // nfs
      0xff534d42,  // cifs
      0x0bd00bd0,  // lustre
      0x47504653,  // gpfs
  };
  return std::ranges::count(kNot, type) == 0;
}

Result<Folder> Folder::make_in(const fs::path& below) {
  remove_left_overs(below);
  // Another chokepoint may remove it before it is locked, taking it for one that was left behind.
  for (int tries = 0; tries < kMaxTries; ++tries) {
    std::string name = (below / kPrefix).string() + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      break;
    }
    sys::Descriptor lock = locked(name);
    if (lock && is_still_there(name, lock)) {
      return Folder(name, std::move(lock));
    }
    const int reason = errno;
    ::rmdir(name.c_str());
    errno = reason;
  }
  Error error = from_errno(errno, "watch NCCL", below.string());
  error.next_step = "set TMPDIR to a folder that can be written to";
  return fail(std::move(error));
}

Result<Folder> Folder::make(const fs::path& below, const fs::path& memory, std::uint64_t min_left) {
  std::error_code error;
  const fs::space_info space = fs::space(memory, error);
  if (!error && space.available >= min_left) {
    if (Result<Folder> folder = make_in(memory); folder) {
      return folder;
    }
  }
  // The plugin accepts absolute paths only.
  const fs::path whole = fs::absolute(below, error);
  Result<Folder> folder = make_on_disk(error ? below : whole);
  return folder || below == "/tmp" ? std::move(folder) : make_on_disk("/tmp");
}

Folder::~Folder() {
  if (!path_.empty()) {
    take_away(lock_, path_);
  }
}

}  // namespace chokepoint::capture::nccl
