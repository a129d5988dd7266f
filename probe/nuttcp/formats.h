// How the loops of probe/peer read and write nuttcp's datagrams: text, with the bytes sent so far
// where the receiver reports by the interval, and marks around it. Datagrams carry no number.
#pragma once

#include <cstring>

#include "probe/nuttcp/protocol.h"
#include "probe/peer/datagram_receive.h"

namespace chokepoint::probe::nuttcp {

struct DatagramFormat {
  bool counts = false;

  void stamp(std::span<std::byte> packet, std::uint64_t number, std::int64_t) const {
    constexpr std::size_t kCountAt = 24;
    const std::uint64_t sent = (number + 1) * packet.size();
    if (counts && packet.size() >= kCountAt + sizeof(sent)) {
      std::memcpy(packet.data() + kCountAt, &sent, sizeof(sent));
    }
  }

  std::optional<peer::Numbered> read(std::span<const std::byte> packet) const {
    return mark_of(packet) ? std::nullopt : std::optional(peer::Numbered{});
  }

  bool ends(std::span<const std::byte> packet) const { return mark_of(packet) == Mark::End; }
};

}  // namespace chokepoint::probe::nuttcp
