// Host memory of whole pages, allocated before use: no page is first touched during a measurement.
// Huge pages and a NUMA node on request. Owns its memory; move only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/sys/error.h"

namespace chokepoint::sys {

struct PageOptions {
  bool huge = false;  // of 2 MiB
  std::optional<int> numa_node = {};
};

class Pages {
 public:
  // No less than `bytes`.
  static Result<Pages> map(std::uint64_t bytes, const PageOptions& options);
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&&) = delete;
  ~Pages();

  std::byte* data() const { return static_cast<std::byte*>(address_); }
  std::span<std::byte> bytes() const { return {data(), size_}; }

 private:
  Pages(void* address, std::uint64_t size) : address_(address), size_(size) {}
  static Result<Pages> reserve(std::uint64_t bytes, bool huge);
  Result<> bind(int node) const;
  Result<> touch(bool huge) const;

  void* address_;
  std::uint64_t size_;
};

// Of a page of this kernel: 4, 16 or 64 KiB.
std::uint64_t page_bytes();

std::string size_words(std::uint64_t bytes);  // "64 MiB", "1000 bytes"

}  // namespace chokepoint::sys
