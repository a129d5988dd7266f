// What the reading thread hands to those that analyse: a batch of frames, and the packets that they
// decode to, in the same order. Packets point into the batch's bytes, so both travel together and
// come back together. Made once, filled again and again. A value.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/packet/decoder.h"
#include "capture/packet/packet.h"
#include "capture/source/source.h"

namespace chokepoint::capture::observer {

struct PacketBatch {
  source::Batch batch = {};
  std::vector<packet::Packet> packets = {};  // as many as frames, or more: never made smaller
  std::vector<std::uint8_t> owners = {};     // the analyser of each; only where there are several

  // `analysers` 1: everything is one's.
  void decode(packet::Decoder& decoder, std::size_t analysers);
};

}  // namespace chokepoint::capture::observer
