#include "capture/source/format.h"
#include "capture/source/pcap_format.h"
#include "capture/source/pcapng_format.h"

namespace chokepoint::capture::source {

Recognised recognise(std::span<const std::uint8_t> head, const std::string& name) {
  if (auto pcap = PcapFormat::recognise(head, name)) {
    return {.format = std::move(pcap), .head_bytes = kPcapFileHeadBytes};
  }
  return {.format = PcapngFormat::recognise(head)};
}

}  // namespace chokepoint::capture::source
