#include "probe/local/storage_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/math/units.h"

namespace chokepoint::probe::storage {
namespace {

constexpr std::uint64_t kMinFreeBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kFreeShare = 20;  // one part of so many
constexpr std::uint64_t kMinFileBytes = std::uint64_t{16} << 20;
constexpr mode_t kOwnersOnly = S_IRUSR | S_IWUSR;

// With a name for as long as it takes to open it.
Result<sys::Descriptor> make_named(const std::filesystem::path& folder) {
  std::string name = folder / ".chokepoint-storage-XXXXXX";
  sys::Descriptor file(mkostemp(name.data(), O_CLOEXEC));
  if (!file) {
    return fail(from_errno(errno, "create a file", folder.string()));
  }
  unlink(name.c_str());
  return file;
}

}  // namespace

Result<Room> room_of(const std::filesystem::path& folder) {
  struct statvfs status{};
  if (statvfs(folder.c_str(), &status) != 0) {
    return fail(from_errno(errno, "look at the file system", folder.string()));
  }
  const std::uint64_t block = status.f_frsize;
  return Room{.total_bytes = status.f_blocks * block, .free_bytes = status.f_bavail * block};
}

Result<std::uint64_t> file_bytes(const Room& room, std::uint64_t wanted,
                                 const std::filesystem::path& folder) {
  const std::uint64_t kept = std::max(room.total_bytes / kFreeShare, kMinFreeBytes);
  const std::uint64_t may = room.free_bytes > kept ? room.free_bytes - kept : 0;
  if (may < std::min(kMinFileBytes, wanted)) {
    return fail(ErrorKind::Exhausted, "measure", folder.string(),
                fmt::format("{} are free, and a test leaves {} alone",
                            math::format_bytes(static_cast<double>(room.free_bytes)),
                            math::format_bytes(static_cast<double>(kept))),
                "make room, or name another folder");
  }
  return std::min(may, wanted);
}

Result<sys::Descriptor> make_file(const std::filesystem::path& folder) {
  sys::Descriptor file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kOwnersOnly));
  if (file) {
    return file;
  }
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOSYS) {
    return make_named(folder);
  }
  return fail(from_errno(errno, "create a file", folder.string()));
}

sys::Descriptor opened_directly(const sys::Descriptor& file) {
  const std::string again = fmt::format("/proc/self/fd/{}", file.get());
  return sys::Descriptor(open(again.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
}

bool is_cold(const sys::Descriptor& file, std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes < page) {
    return false;
  }
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) {
    return false;
  }
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  const bool is_known = mincore(mapped, bytes, pages.data()) == 0;
  munmap(mapped, bytes);
  return is_known &&
         std::ranges::none_of(pages, [](unsigned char each) { return (each & 1U) != 0; });
}

void make_cold(const sys::Descriptor& file) {
  posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace chokepoint::probe::storage
