#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/sys/pages.h"
#include "rdma/memory/buffer.h"
#include "rdma/memory/words.h"

namespace chokepoint::rdma::memory {
namespace {

class HostBuffer final : public Buffer {
 public:
  HostBuffer(sys::Pages pages, std::uint64_t bytes, const HostOptions& options)
      : pages_(std::move(pages)), bytes_(bytes), options_(options) {}

  verbs::MemoryView view() const override {
    return {.address = reinterpret_cast<std::uint64_t>(pages_.data()), .bytes = bytes_};
  }
  std::byte* host() override { return pages_.data(); }

  Result<> write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (auto inside = check_inside(bytes_, offset, bytes.size()); !inside) {
      return inside;
    }
    std::memcpy(pages_.data() + offset, bytes.data(), bytes.size());
    return {};
  }

  Result<> read(std::uint64_t offset, std::span<std::byte> bytes) const override {
    if (auto inside = check_inside(bytes_, offset, bytes.size()); !inside) {
      return inside;
    }
    std::memcpy(bytes.data(), pages_.data() + offset, bytes.size());
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
  sys::Pages pages_;
  std::uint64_t bytes_;
  HostOptions options_;
};

}  // namespace

Result<std::unique_ptr<Buffer>> host_buffer(std::uint64_t bytes, const HostOptions& options) {
  auto pages = sys::Pages::map(
      bytes, {.huge = options.pages == Pages::Huge, .numa_node = options.numa_node});
  if (!pages) {
    return fail(std::move(pages.error()));
  }
  return std::make_unique<HostBuffer>(std::move(*pages), bytes, options);
}

}  // namespace chokepoint::rdma::memory
