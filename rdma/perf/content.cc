#include "rdma/perf/content.h"

#include <algorithm>
#include <cstring>

namespace chokepoint::rdma::perf {

Content::Content(memory::Buffer& buffer, std::uint32_t message_bytes)
    : buffer_(buffer), copy_(message_bytes), bytes_(message_bytes) {}

Result<> Content::put(std::uint64_t offset, MessageNumber number) {
  if (std::byte* host = buffer_.host(); host != nullptr) {
    write_pattern({host + offset, bytes_}, number);
    return {};
  }
  write_pattern(copy_, number);
  return buffer_.write(offset, copy_);
}

Result<> Content::wipe(std::uint64_t offset) {
  std::ranges::fill(copy_, std::byte{0});
  return buffer_.write(offset, copy_);
}

Result<std::span<std::byte>> Content::at(std::uint64_t offset) {
  if (std::byte* host = buffer_.host(); host != nullptr) {
    return std::span(host + offset, bytes_);
  }
  TRY(buffer_.read(offset, copy_));
  return std::span(copy_);
}

Result<bool> Content::holds(std::uint64_t offset, MessageNumber number) {
  const auto message = at(offset);
  return message ? Result<bool>(holds_pattern(*message, number)) : fail(message.error());
}

Result<std::optional<std::uint64_t>> Content::find(std::uint64_t offset, MessageNumber number,
                                                   std::uint64_t end, std::uint64_t step) {
  TRY(const auto message, at(offset));
  if (const auto told = sequence_of(message, number.queue)) {
    const bool due =
        *told >= number.sequence && *told < end && (*told - number.sequence) % step == 0;
    number.sequence = *told;
    return due && holds_pattern(message, number) ? told : std::nullopt;
  }
  for (; number.sequence < end; number.sequence += step) {
    if (holds_pattern(message, number)) {
      return number.sequence;
    }
  }
  return std::nullopt;
}

Result<std::uint64_t> Content::word(std::uint64_t offset) {
  std::uint64_t value = 0;
  auto read = buffer_.read(offset, std::as_writable_bytes(std::span(&value, 1)));
  return read ? Result<std::uint64_t>(value) : fail(std::move(read.error()));
}

Result<bool> Content::wiped(std::uint64_t offset) {
  TRY(const auto message, at(offset));
  return std::ranges::all_of(message, [](std::byte each) { return each == std::byte{0}; });
}

}  // namespace chokepoint::rdma::perf
