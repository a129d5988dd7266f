// What a TCP connection carries, by the first bytes of either of its directions. An analyser's
// thread; keeps nothing of a connection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/traffic/content.h"
#include "capture/flow/engine.h"
#include "capture/flow/slot_table.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

class ContentWatch {
 public:
  using OnContent = std::function<void(std::uint32_t slot, traffic::Content content)>;

  explicit ContentWatch(OnContent on_content) : on_content_(std::move(on_content)) {}

  // A TCP packet with payload. Where the handshake was not seen, a stream begins anywhere.
  void take(const packet::Packet& packet, const flow::Seen& seen) {
    if (seen.offset == 0 && seen.new_from == 0) {
      take_beginning(packet, seen);
    }
  }

 private:
  void take_beginning(const packet::Packet& packet, const flow::Seen& seen) {
    const std::size_t bytes =
        std::min<std::size_t>(packet.captured_payload_bytes, traffic::kMaxBeginning);
    const traffic::Content content = traffic::content_of({packet.payload, bytes});
    if (content != traffic::Content::Unknown) {
      on_content_(seen.slot, content);
    }
  }

  OnContent on_content_;
};

}  // namespace chokepoint::capture::observer
