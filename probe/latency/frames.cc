#include "probe/latency/frames.h"

#include <fmt/format.h>

namespace chokepoint::probe::latency {
namespace {

std::uint32_t number_in(std::span<const std::byte> bytes) {
  std::uint32_t number = 0;
  for (const std::byte byte : bytes) {
    number = number << 8U | std::to_integer<std::uint32_t>(byte);
  }
  return number;
}

void put_number(std::uint32_t number, std::span<std::byte> into) {
  for (std::size_t i = into.size(); i-- > 0; number >>= 8U) {
    into[i] = static_cast<std::byte>(number & 0xffU);
  }
}

bool can_have(FrameType type, std::uint32_t length) {
  switch (type) {
    case FrameType::Data:
      return length > 0 && length <= kDataBytes;
    case FrameType::Object:
      return length == kObjectBytes;
    case FrameType::Get:
    case FrameType::Fill:
      return length == 0;
  }
  return false;
}

}  // namespace

FrameHeadBytes bytes_of(const FrameHead& head) {
  FrameHeadBytes bytes{};
  put_number(head.length, std::span(bytes).first<3>());
  bytes[3] = static_cast<std::byte>(head.type);
  put_number(head.number, std::span(bytes).subspan<4>());
  return bytes;
}

Result<FrameHead> head_in(std::span<const std::byte, kHeadBytes> bytes) {
  const FrameHead head{.type = static_cast<FrameType>(bytes[3]),
                       .length = number_in(bytes.first<3>()),
                       .number = number_in(bytes.subspan<4>())};
  if (!can_have(head.type, head.length)) {
    return fail(ErrorKind::Malformed, "read frame", "",
                fmt::format("a frame of type {} and {} bytes", static_cast<unsigned>(head.type),
                            head.length));
  }
  return head;
}

ObjectBytes object_bytes(std::uint32_t number, std::uint32_t rtt_us) {
  ObjectBytes bytes{};
  std::ranges::copy(bytes_of({.type = FrameType::Object, .length = kObjectBytes, .number = number}),
                    bytes.begin());
  put_number(rtt_us, std::span(bytes).subspan<kHeadBytes>());
  return bytes;
}

Result<FrameHead> FrameScanner::read_head() const {
  return head_in(std::span(kept_).first<kHeadBytes>());
}

std::size_t FrameScanner::keep(std::span<const std::byte> bytes) {
  const std::size_t wanted = has_head_ ? left_ : kHeadBytes - kept_bytes_;
  const std::size_t used = std::min(wanted, bytes.size());
  std::ranges::copy(bytes.first(used), kept_.begin() + static_cast<std::ptrdiff_t>(kept_bytes_));
  kept_bytes_ += used;
  left_ -= has_head_ ? static_cast<std::uint32_t>(used) : 0;
  return used;
}

Frame FrameScanner::finish() {
  const Frame frame{.head = head_,
                    .rtt_us = head_.type == FrameType::Object
                                  ? number_in(std::span(kept_).subspan<kHeadBytes>())
                                  : 0};
  kept_bytes_ = 0;
  has_head_ = false;
  return frame;
}

}  // namespace chokepoint::probe::latency
