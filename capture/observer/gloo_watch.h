// Finds the TCP flows that carry Gloo and follows them. A flow is followed from the first segment
// on that begins as Gloo's do, however late: a capture may come into the midst of a message of any
// size, and looking at a segment costs next to nothing. What is kept per flow lies in a table by
// the flow's slot, so nothing is searched. Bounded memory: a small entry a slot, a follower only
// for a flow that is Gloo's. One thread; the ledger outlives it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "capture/flow/engine.h"
#include "capture/gloo/follower.h"
#include "capture/observer/gloo_ledger.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

class GlooWatch {
 public:
  // The flow in this slot is the ledger's connection of this number from now on.
  using OnConnection = std::function<void(std::uint32_t slot, std::uint32_t connection)>;

  // `on_connection` may be empty.
  explicit GlooWatch(GlooLedger& ledger, OnConnection on_connection = {})
      : ledger_(ledger), on_connection_(std::move(on_connection)) {}

  // A TCP packet with payload that is new.
  void take(const packet::Packet& packet, const flow::Seen& seen);
  // All flows are over.
  void finish();

 private:
  struct Followed {
    GlooLedger::Connection connection = {};
    std::array<gloo::Follower, 2> followers = {};  // a to b, b to a
  };

  struct Entry {
    std::uint32_t generation = 0;
    std::unique_ptr<Followed> followed = {};
  };

  Entry& entry_of(const flow::Seen& seen);
  void begin(Entry& entry, const packet::Packet& packet, const flow::Seen& seen);
  void follow(Followed& followed, const packet::Packet& packet, const flow::Seen& seen);
  void end(Entry& entry);

  GlooLedger& ledger_;
  OnConnection on_connection_;
  std::vector<Entry> entries_;
};

}  // namespace chokepoint::capture::observer
