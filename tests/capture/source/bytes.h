// Capture files written down byte by byte, as a machine of either byte order would have.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/source/format.h"

namespace chokepoint::capture::source {

class Bytes {
 public:
  explicit Bytes(std::endian order = std::endian::little) : order_(order) {}

  Bytes& u8(std::uint8_t number) { return add(number, 1); }
  Bytes& u16(std::uint16_t number) { return add(number, 2); }
  Bytes& u32(std::uint32_t number) { return add(number, 4); }
  Bytes& u64(std::uint64_t number) { return add(number, 8); }
  Bytes& text(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }
  Bytes& bytes(std::span<const std::uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Bytes& zeros(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }

  std::endian order() const { return order_; }
  const std::vector<std::uint8_t>& all() const { return bytes_; }

 private:
  Bytes& add(std::uint64_t number, unsigned width) {
    for (unsigned i = 0; i < width; ++i) {
      const unsigned shift = 8 * (order_ == std::endian::little ? i : width - 1 - i);
      bytes_.push_back(static_cast<std::uint8_t>(number >> shift));
    }
    return *this;
  }

  std::endian order_;
  std::vector<std::uint8_t> bytes_;
};

// A stream of bytes at hand, `step` of them a read.
class MemoryStream final : public ByteStream {
 public:
  explicit MemoryStream(std::span<const std::uint8_t> bytes, std::size_t step = SIZE_MAX)
      : bytes_(bytes.begin(), bytes.end()), step_(step) {}

  Result<Chunk> read(std::span<std::uint8_t> into) override {
    const std::size_t count = std::min({into.size(), step_, bytes_.size() - at_});
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), count, into.begin());
    at_ += count;
    return Chunk{.bytes = count, .ended = at_ == bytes_.size()};
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t step_;
  std::size_t at_ = 0;
};

}  // namespace chokepoint::capture::source
