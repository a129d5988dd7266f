#include "base/sys/pages.h"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace chokepoint::sys {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
constexpr int kHugePageShift = 21;
constexpr std::string_view kOperation = "allocate memory";

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

std::unexpected<Error> no_huge_pages(int code, std::uint64_t bytes) {
  Error error = from_errno(code, kOperation, size_words(bytes) + " of huge pages");
  if (code == ENOMEM) {
    const std::uint64_t pages = bytes / kHugePage;
    error.reason = fmt::format("{} free huge pages of 2 MiB are needed", pages);
    // vm.nr_hugepages counts pages of another size where the kernel's own are not of 4 KiB.
    error.next_step = fmt::format(
        "as root: echo {} >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages, or more where "
        "others use some",
        pages);
  }
  return fail(std::move(error));
}

}  // namespace

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

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

Pages::Pages(Pages&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Pages::~Pages() {
  if (address_ != nullptr) {
    munmap(address_, size_);
  }
}

Result<Pages> Pages::reserve(std::uint64_t bytes, bool huge) {
  const int extra = huge ? MAP_HUGETLB | (kHugePageShift << MAP_HUGE_SHIFT) : 0;
  void* address =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | extra, -1, 0);
  if (address != MAP_FAILED) {
    return Pages(address, bytes);
  }
  return huge ? no_huge_pages(errno, bytes)
              : fail(from_errno(errno, kOperation, size_words(bytes)));
}

// By its number rather than libnuma's function: one call is all that is needed.
Result<> Pages::bind(int node) const {
  std::array<unsigned long, 16> nodes{};
  constexpr int kBits = 8 * sizeof(unsigned long);
  const std::string subject = fmt::format("NUMA node {}", node);
  if (node < 0 || node >= kBits * static_cast<int>(nodes.size())) {
    return fail(ErrorKind::Usage, kOperation, subject, "no such NUMA node",
                "'lscpu' lists this host's");
  }
  nodes[static_cast<std::size_t>(node / kBits)] |= 1UL << (node % kBits);
  if (syscall(SYS_mbind, address_, size_, MPOL_BIND, nodes.data(), kBits * nodes.size(), 0) == 0) {
    return {};
  }
  Error error = from_errno(errno, kOperation, subject);
  if (errno == EINVAL) {
    error = {ErrorKind::NotFound,
             std::string(kOperation),
             subject,
             EINVAL,
             "no such NUMA node, or none with memory",
             "'lscpu' lists this host's"};
  } else if (errno == ENOSYS || errno == EPERM) {
    error.next_step = "leave the choice of a node to the kernel";
  }
  return fail(std::move(error));
}

// By madvise where the kernel has it (5.14): a node that runs out of huge pages is then an error,
// no signal.
Result<> Pages::touch(bool huge) const {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers lack
  if (madvise(address_, size_, kPopulateWrite) == 0) {
    return {};
  }
  if (errno == EINVAL) {
    std::memset(address_, 0, size_);
    return {};
  }
  return huge ? no_huge_pages(ENOMEM, size_)
              : fail(from_errno(errno, kOperation, size_words(size_)));
}

Result<Pages> Pages::map(std::uint64_t bytes, const PageOptions& options) {
  auto pages =
      reserve(round_up(std::max<std::uint64_t>(bytes, 1), options.huge ? kHugePage : page_bytes()),
              options.huge);
  if (!pages) {
    return pages;
  }
  if (options.numa_node) {
    TRY(pages->bind(*options.numa_node));
  }
  TRY(pages->touch(options.huge));
  return pages;
}

}  // namespace chokepoint::sys
