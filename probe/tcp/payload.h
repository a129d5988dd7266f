// What every sending stream sends, over and over: bytes that never change and cannot be compressed.
// Shared by all streams, any thread.
#pragma once

#include <cstddef>
#include <span>

#include "base/sys/error.h"

namespace chokepoint::probe::tcp {

class Payload {
 public:
  static Result<Payload> make();
  Payload(Payload&& other) noexcept;
  Payload& operator=(Payload&&) = delete;
  ~Payload();

  // Whole pages of this process's memory.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit Payload(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace chokepoint::probe::tcp
