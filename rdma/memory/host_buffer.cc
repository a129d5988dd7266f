#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "rdma/memory/buffer.h"
#include "rdma/memory/words.h"

namespace chokepoint::rdma::memory {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
constexpr int kHugePageShift = 21;
constexpr std::string_view kOperation = "allocate memory";

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

class Mapping {
 public:
  Mapping(void* address, std::uint64_t bytes) : address_(address), bytes_(bytes) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  Mapping(Mapping&& other) noexcept : address_(other.address_), bytes_(other.bytes_) {
    other.address_ = nullptr;
  }
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (address_ != nullptr) {
      munmap(address_, bytes_);
    }
  }
  std::byte* data() const { return static_cast<std::byte*>(address_); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void* address_;
  std::uint64_t bytes_;
};

class HostBuffer final : public Buffer {
 public:
  HostBuffer(Mapping mapping, std::uint64_t bytes, const HostOptions& options)
      : mapping_(std::move(mapping)), bytes_(bytes), options_(options) {}

  verbs::MemoryView view() const override {
    return {.address = reinterpret_cast<std::uint64_t>(mapping_.data()), .bytes = bytes_};
  }
  std::byte* host() override { return mapping_.data(); }

  Result<> write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (auto inside = check_inside(bytes_, offset, bytes.size()); !inside) {
      return inside;
    }
    std::memcpy(mapping_.data() + offset, bytes.data(), bytes.size());
    return {};
  }

  Result<> read(std::uint64_t offset, std::span<std::byte> bytes) const override {
    if (auto inside = check_inside(bytes_, offset, bytes.size()); !inside) {
      return inside;
    }
    std::memcpy(bytes.data(), mapping_.data() + offset, bytes.size());
    return {};
  }

  std::string describe() const override {
    std::string words = size_words(bytes_);
    if (options_.pages == Pages::Huge) {
      words += " of huge pages";
    }
    if (options_.numa_node) {
      words += fmt::format(" on NUMA node {}", *options_.numa_node);
    }
    return words;
  }

 private:
  Mapping mapping_;
  std::uint64_t bytes_;
  HostOptions options_;
};

std::unexpected<Error> no_huge_pages(int code, std::uint64_t bytes) {
  Error error = from_errno(code, kOperation, size_words(bytes) + " of huge pages");
  if (code == ENOMEM) {
    const std::uint64_t pages = bytes / kHugePage;
    error.reason = fmt::format("{} free huge pages of 2 MiB are needed", pages);
    error.next_step =
        fmt::format("as root: sysctl vm.nr_hugepages={}, or more where others use some", pages);
  }
  return fail(std::move(error));
}

Result<Mapping> map(std::uint64_t bytes, Pages pages) {
  const int huge = MAP_HUGETLB | (kHugePageShift << MAP_HUGE_SHIFT);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (pages == Pages::Huge ? huge : 0);
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (address != MAP_FAILED) {
    return Mapping(address, bytes);
  }
  return pages == Pages::Huge ? no_huge_pages(errno, bytes)
                              : fail(from_errno(errno, kOperation, size_words(bytes)));
}

// By its number rather than libnuma's function: one call is all that is needed.
Result<> bind(const Mapping& mapping, int node) {
  std::array<unsigned long, 16> nodes{};
  constexpr int kBits = 8 * sizeof(unsigned long);
  const std::string subject = fmt::format("NUMA node {}", node);
  if (node < 0 || node >= kBits * static_cast<int>(nodes.size())) {
    return fail(ErrorKind::Usage, kOperation, subject, "no such NUMA node",
                "'lscpu' lists this host's");
  }
  nodes[static_cast<std::size_t>(node / kBits)] |= 1UL << (node % kBits);
  if (syscall(SYS_mbind, mapping.data(), mapping.bytes(), MPOL_BIND, nodes.data(),
              kBits * nodes.size(), 0) == 0) {
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

// Touched before it is measured. By madvise where the kernel has it (5.14): a node that runs out of
// huge pages is then an error, no signal.
Result<> touch(const Mapping& mapping, Pages pages) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers lack
  if (madvise(mapping.data(), mapping.bytes(), kPopulateWrite) == 0) {
    return {};
  }
  if (errno == EINVAL) {
    std::memset(mapping.data(), 0, mapping.bytes());
    return {};
  }
  return pages == Pages::Huge ? no_huge_pages(ENOMEM, mapping.bytes())
                              : fail(from_errno(errno, kOperation, size_words(mapping.bytes())));
}

}  // namespace

Result<std::unique_ptr<Buffer>> host_buffer(std::uint64_t bytes, const HostOptions& options) {
  const std::uint64_t rounded =
      round_up(std::max<std::uint64_t>(bytes, 1), options.pages == Pages::Huge ? kHugePage : kPage);
  auto mapping = map(rounded, options.pages);
  if (!mapping) {
    return fail(std::move(mapping.error()));
  }
  if (options.numa_node) {
    if (auto bound = bind(*mapping, *options.numa_node); !bound) {
      return fail(std::move(bound.error()));
    }
  }
  if (auto touched = touch(*mapping, options.pages); !touched) {
    return fail(std::move(touched.error()));
  }
  return std::make_unique<HostBuffer>(std::move(*mapping), bytes, options);
}

}  // namespace chokepoint::rdma::memory
