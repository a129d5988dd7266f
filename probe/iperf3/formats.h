// How the loops of probe/peer read and write iperf3's datagrams. One copy a stream's thread.
#pragma once

#include "probe/iperf3/datagram.h"
#include "probe/peer/datagram_receive.h"

namespace chokepoint::probe::iperf3 {

struct DatagramFormat {
  bool wide = false;

  void stamp(std::span<std::byte> packet, std::uint64_t number, std::int64_t now_ns) const {
    constexpr std::int64_t kSecond = 1'000'000'000;
    encode({.seconds = static_cast<std::uint32_t>(now_ns / kSecond),
            .microseconds = static_cast<std::uint32_t>(now_ns % kSecond / 1000),
            .sequence = number + 1},
           wide, packet);
  }

  std::optional<peer::Numbered> read(std::span<const std::byte> packet) const {
    const std::optional<DatagramHead> head = decode_head(packet, wide);
    if (!head || head->sequence == 0) {
      return std::nullopt;
    }
    return peer::Numbered{.number = head->sequence - 1,
                          .sent_ns = std::int64_t{head->seconds} * 1'000'000'000 +
                                     std::int64_t{head->microseconds} * 1000};
  }

  // The control connection says when the data is over.
  bool ends(std::span<const std::byte>) const { return false; }
};

}  // namespace chokepoint::probe::iperf3
