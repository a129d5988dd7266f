// What one direction of a connection still has to carry, as the ready messages of both directions
// announce it, and so what a stretch must have been whose headers were not captured:
//
//   this direction    send-ready(slot, length) ──┐
//   the other one     receive-ready(slot, length) ┴─▶ expected ── buffer read, or deduced ──▶ gone
//
// Gloo sends the buffers of a slot in the order of their announcements. Fixed memory; a value.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "capture/gloo/header.h"
#include "capture/gloo/message.h"

namespace chokepoint::capture::gloo {

// When so many bytes of it had passed, as if they had come evenly.
std::int64_t moment_in(const Message& whole, std::uint64_t bytes);

class Expected {
 public:
  // A ready message that concerns this direction.
  void announce(const Message& ready);
  void arrived(const Message& buffer);

  // Takes from `missed`, a message of unknown kind, what must have been in it: nothing that was
  // announced only after it, for a stretch may be told long after it was over. Calls
  // `on_message(const Message&)` for each; what `missed` has left is explained by nothing. Its
  // bytes are taken to have come evenly.
  template <class OnMessage>
  void explain(Message& missed, OnMessage&& on_message) {
    const Message whole = missed;
    for (std::size_t place = 0; place < size_;) {
      const std::uint64_t bytes = waiting_[place].buffer.payload_bytes + kHeaderBytes;
      const bool is_later = waiting_[place].buffer.first_byte_ns > whole.last_byte_ns;
      if (missed.payload_bytes < bytes || is_later) {
        ++place;
        continue;
      }
      Message deduced = waiting_[place].buffer;
      missed.first_byte_ns = std::max(missed.first_byte_ns, deduced.first_byte_ns);
      deduced.first_byte_ns = missed.first_byte_ns;
      missed.payload_bytes -= bytes;
      deduced.last_byte_ns = std::max(deduced.first_byte_ns,
                                      moment_in(whole, whole.payload_bytes - missed.payload_bytes));
      missed.first_byte_ns = deduced.last_byte_ns;
      remove(place);
      on_message(deduced);
    }
  }

 private:
  static constexpr std::size_t kMost = 64;

  struct Waiting {
    Message buffer{};  // first_byte_ns: when it was last announced
    bool is_announced = false;
    bool is_credited = false;
  };

  void remove(std::size_t place);
  void forget_before(const Message& message);

  std::array<Waiting, kMost> waiting_{};
  std::size_t size_ = 0;
};

}  // namespace chokepoint::capture::gloo
