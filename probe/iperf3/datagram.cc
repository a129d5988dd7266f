#include "probe/iperf3/datagram.h"

#include <algorithm>
#include <array>

namespace chokepoint::probe::iperf3 {
namespace {

using Greeting = std::array<std::byte, kGreetingBytes>;

constexpr Greeting bytes_of(unsigned a, unsigned b, unsigned c, unsigned d) {
  return {std::byte(a), std::byte(b), std::byte(c), std::byte(d)};
}

// iperf3 sends integers in the host's order, so a big-endian client has them the other way round.
constexpr Greeting kGreeting = bytes_of('9', '8', '7', '6');
constexpr Greeting kSwappedGreeting = bytes_of('6', '7', '8', '9');
constexpr Greeting kOldGreeting = bytes_of(0x15, 0xcd, 0x5b, 0x07);  // 123456789
constexpr Greeting kGreetingAnswer = bytes_of('6', '7', '8', '9');
constexpr Greeting kSwappedGreetingAnswer = bytes_of('9', '8', '7', '6');
constexpr Greeting kOldGreetingAnswer = bytes_of(0xb1, 0x68, 0xde, 0x3a);  // 987654321

template <class T>
void put(T value, std::span<std::byte, sizeof(T)> into) {
  for (std::size_t i = into.size(); i-- > 0; value = static_cast<T>(value >> 8)) {
    into[i] = std::byte(value & 0xff);
  }
}

template <class T>
T get(std::span<const std::byte, sizeof(T)> from) {
  T value = 0;
  for (const std::byte byte : from) {
    value = static_cast<T>(value << 8 | std::to_integer<T>(byte));
  }
  return value;
}

}  // namespace

void encode(const DatagramHead& head, bool wide, std::span<std::byte> into) {
  put(head.seconds, into.subspan<0, 4>());
  put(head.microseconds, into.subspan<4, 4>());
  if (wide) {
    put(head.sequence, into.subspan<8, 8>());
  } else {
    put(static_cast<std::uint32_t>(head.sequence), into.subspan<8, 4>());
  }
}

std::optional<DatagramHead> decode_head(std::span<const std::byte> datagram, bool wide) {
  if (datagram.size() < head_bytes(wide)) {
    return std::nullopt;
  }
  return DatagramHead{.seconds = get<std::uint32_t>(datagram.subspan<0, 4>()),
                      .microseconds = get<std::uint32_t>(datagram.subspan<4, 4>()),
                      .sequence = wide ? get<std::uint64_t>(datagram.subspan<8, 8>())
                                       : get<std::uint32_t>(datagram.subspan<8, 4>())};
}

std::span<const std::byte, kGreetingBytes> greeting() { return kGreeting; }

std::optional<std::span<const std::byte, kGreetingBytes>> answer_to(
    std::span<const std::byte> got) {
  if (std::ranges::equal(got, kGreeting)) {
    return kGreetingAnswer;
  }
  if (std::ranges::equal(got, kSwappedGreeting)) {
    return kSwappedGreetingAnswer;
  }
  if (std::ranges::equal(got, kOldGreeting)) {
    return kOldGreetingAnswer;
  }
  return std::nullopt;
}

bool is_answer(std::span<const std::byte> datagram) {
  return std::ranges::equal(datagram, kGreetingAnswer) ||
         std::ranges::equal(datagram, kOldGreetingAnswer);
}

}  // namespace chokepoint::probe::iperf3
