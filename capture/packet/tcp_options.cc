#include "capture/packet/tcp_options.h"

#include <algorithm>

#include "capture/packet/bytes.h"

namespace chokepoint::capture::packet {
namespace {

enum OptionKind : std::uint8_t {
  kEndOfList = 0,
  kNoOperation = 1,
  kMss = 2,
  kWindowScale = 3,
  kSackPermitted = 4,
  kSack = 5,
  kTimestamps = 8,
};

void take_sack(const std::uint8_t* value, std::uint32_t bytes, Tcp& tcp) {
  if (bytes % 8 != 0) {
    return;
  }
  const auto blocks = std::min<std::uint32_t>(bytes / 8, kMostSackBlocks);
  for (std::uint32_t i = 0; i < blocks; ++i, value += 8) {
    tcp.sack[i] = {.begin = read32(value), .end = read32(value + 4)};
  }
  tcp.sack_blocks = static_cast<std::uint8_t>(blocks);
}

void take_window_scale(std::uint8_t shift, Tcp& tcp) {
  constexpr std::uint8_t kMostAllowed = 14;
  tcp.window_scale = std::min(shift, kMostAllowed);
  tcp.options |= kHasWindowScale;
}

// `length` has kind and length themselves in it.
void take(const std::uint8_t* option, std::uint32_t length, Tcp& tcp) {
  if (option[0] == kTimestamps && length == 10) {
    tcp.timestamp = read32(option + 2);
    tcp.timestamp_echo = read32(option + 6);
    tcp.options |= kHasTimestamps;
  } else if (option[0] == kSack) {
    take_sack(option + 2, length - 2, tcp);
  } else if (option[0] == kMss && length == 4) {
    tcp.mss = read16(option + 2);
    tcp.options |= kHasMss;
  } else if (option[0] == kWindowScale && length == 3) {
    take_window_scale(option[2], tcp);
  } else if (option[0] == kSackPermitted && length == 2) {
    tcp.options |= kHasSackPermitted;
  }
}

}  // namespace

void read_tcp_options(const std::uint8_t* begin, const std::uint8_t* end, Tcp& tcp) {
  const std::uint8_t* at = begin;
  while (at < end && *at != kEndOfList) {
    if (*at == kNoOperation) {
      ++at;
      continue;
    }
    if (end - at < 2 || at[1] < 2 || at[1] > end - at) {
      return;
    }
    take(at, at[1], tcp);
    at += at[1];
  }
}

}  // namespace chokepoint::capture::packet
