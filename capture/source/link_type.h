// Link types have one number in files; some writers put down the one their own system uses.
#pragma once

#include <cstdint>

#include "capture/packet/frame.h"

namespace chokepoint::capture::source {

// The upper bits of the field tell of checksums at the end of frames, which decoders ignore.
constexpr packet::LinkType link_type_of(std::uint32_t number) {
  constexpr std::uint32_t kRawOfBsd = 12;
  constexpr std::uint32_t kRawOfOpenBsd = 14;
  const std::uint32_t link_type = number & 0xffff;
  if (link_type == kRawOfBsd || link_type == kRawOfOpenBsd) {
    return packet::LinkType::Raw;
  }
  return static_cast<packet::LinkType>(link_type);
}

}  // namespace chokepoint::capture::source
