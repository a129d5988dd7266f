// The options at the end of a pcapng block, one after the other until "end of options" or whatever
// does not fit:
//
//   code u16 │ length u16 │ value, padded to 4 bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "capture/source/byte_order.h"

namespace chokepoint::capture::source {

inline constexpr std::size_t kLongestInterfaceName = 128;

enum InterfaceOption : std::uint16_t { kNameOption = 2, kResolutionOption = 9, kOffsetOption = 14 };
enum StatisticsOption : std::uint16_t { kDroppedByInterfaceOption = 5, kDroppedByKernelOption = 7 };

struct PcapngOption {
  std::uint16_t code = 0;
  std::span<const std::uint8_t> value = {};

  // Nothing where it is too short for one.
  template <class Number>
  std::optional<Number> number(ByteOrder order) const {
    return value.size() < sizeof(Number) ? std::nullopt
                                         : std::optional(load<Number>(value.data(), order));
  }
};

template <class Visit>
void for_each_option(std::span<const std::uint8_t> options, ByteOrder order, Visit visit) {
  constexpr std::size_t kHead = 4;
  while (options.size() >= kHead) {
    const auto code = load<std::uint16_t>(options.data(), order);
    const std::size_t length = load<std::uint16_t>(options.data() + 2, order);
    const std::size_t padded = kHead + (length + 3) / 4 * 4;
    if (code == 0 || padded > options.size()) {
      return;
    }
    visit(PcapngOption{.code = code, .value = options.subspan(kHead, length)});
    options = options.subspan(padded);
  }
}

}  // namespace chokepoint::capture::source
