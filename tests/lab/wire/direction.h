// One direction of the wire: frames read from one TAP device, written to the other when they are
// due. Orders are carried out before the shaper sees a frame. The relay calls it on its one thread;
// the devices are the relay's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "tests/lab/wire/frame_queue.h"
#include "tests/lab/wire/orders.h"
#include "tests/lab/wire/shaper.h"
#include "tests/lab/wire/tap.h"

namespace chokepoint::lab {

class Direction {
 public:
  Direction(const Tap& from, const Tap& to, const DirectionSettings& settings, std::uint64_t seed);

  // Takes a batch of what waits at `from`, which is no more than both directions get a turn for.
  void take(std::int64_t now_ns);
  // Writes what is due.
  void release(std::int64_t now_ns);
  std::optional<std::int64_t> next_due_ns() const;
  // Frames that were held back go on their way first.
  void change(const DirectionSettings& settings, std::int64_t now_ns);
  const Tap& from() const { return from_; }
  const Obeyed& obeyed() const { return orders_.obeyed(); }
  Shaper& shaper() { return shaper_; }
  const Shaper& shaper() const { return shaper_; }

 private:
  struct Held {
    std::vector<std::byte> data;
    std::uint64_t until;    // so many frames with data have passed
    std::int64_t until_ns;  // or it is so late
  };

  void dispose(std::span<const std::byte> frame, std::int64_t now_ns);
  void send(std::span<const std::byte> frame, std::int64_t now_ns);
  bool draws_late();
  void send_held(std::uint64_t counted, std::int64_t now_ns);

  const Tap& from_;
  const Tap& to_;
  Shaper shaper_;
  OrderBook orders_;
  FrameQueue queue_;
  std::vector<Held> held_;
  std::mt19937_64 random_;
};

}  // namespace chokepoint::lab
