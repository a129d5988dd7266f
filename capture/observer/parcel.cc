#include "capture/observer/parcel.h"

#include "capture/observer/spread.h"

namespace chokepoint::capture::observer {

void PacketBatch::decode(packet::Decoder& decoder, std::size_t analysers) {
  const std::size_t count = batch.frames.size();
  if (packets.size() < count) {
    packets.resize(count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    decoder.decode(batch.frames[i], packets[i]);
  }
  if (analysers < 2) {
    return;
  }
  owners.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    owners[i] = static_cast<std::uint8_t>(spread(packets[i], analysers));
  }
}

}  // namespace chokepoint::capture::observer
