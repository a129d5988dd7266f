#include "rdma/memory/words.h"

#include <fmt/format.h>

namespace chokepoint::rdma::memory {

std::string size_words(std::uint64_t bytes) {
  constexpr std::uint64_t kKibi = 1024;
  constexpr std::uint64_t kMebi = kKibi * kKibi;
  if (bytes >= kMebi && bytes % kMebi == 0) {
    return fmt::format("{} MiB", bytes / kMebi);
  }
  if (bytes >= kKibi && bytes % kKibi == 0) {
    return fmt::format("{} KiB", bytes / kKibi);
  }
  return fmt::format("{} bytes", bytes);
}

Result<> check_inside(std::uint64_t size, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > size || bytes > size - offset) {
    return fail(ErrorKind::Usage, "reach memory", size_words(size), "outside of the buffer");
  }
  return {};
}

}  // namespace chokepoint::rdma::memory
