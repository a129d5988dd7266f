// Gloo in the captured traffic: each analyser's GlooWatch finds and follows the flows that carry
// it; one GlooLedger joins the messages of all analysers to collectives; CollectiveRecorder writes
// these to the run record.
//
//   analyser ─ GlooWatch ─┐
//   analyser ─ GlooWatch ─┴─ messages ─▶ GlooLedger ─ collectives ─▶ CollectiveRecorder
//
// A host may have several ranks, and which of them a connection belongs to is not in the packets.
// Who knows it (chokepoint run) has the ledger keep each end of each connection by itself, and
// joins them by rank: see capture/gloo/rank_collectives.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/math/histogram.h"
#include "base/record/samples.h"
#include "base/record/sink.h"
#include "capture/flow/engine.h"
#include "capture/flow/slot_table.h"
#include "capture/gloo/collectives.h"
#include "capture/gloo/follower.h"
#include "capture/gloo/message.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

// Collectives of one kind.
struct CollectiveSum {
  gloo::Kind kind = gloo::Kind::Unknown;
  std::uint64_t count = 0;
  std::uint64_t sent_bytes = 0;  // as this node sees it
  std::uint64_t received_bytes = 0;
  math::Histogram duration_ns = {};
};

enum class Joining : std::uint8_t { ByGroup, ByConnection };

// Collectives from the messages of all analysers, and sums of them by kind. One lock per message,
// none per packet: a collective consists of some dozens of messages. Any thread.
class GlooLedger {
 public:
  using OnCollective = gloo::Collectives::OnCollective;
  // What one end of one connection showed of a collective; `sending`: of the connection, that end
  // as the source. `now_ns`: of the newest message.
  using OnPart = std::function<void(const gloo::Collective& part, const packet::Ends& sending,
                                    std::int64_t now_ns)>;

  // Flows are described from the end that has one of these addresses; others from the end that was
  // seen first. `on_collective` may be empty, and so may `on_waiting`, which hears of those that
  // wait for somebody; both are called under the lock, by any thread.
  explicit GlooLedger(std::vector<packet::Address> own_addresses = {},
                      OnCollective on_collective = {}, Joining joining = Joining::ByGroup,
                      OnCollective on_waiting = {}, OnPart on_part = {});

  // Its numbers as a and as b see it; kNoConnection if that end is not here. Both are if two ranks
  // of this host talk, where the ledger joins by connection.
  struct Connection {
    std::array<std::uint32_t, 2> numbers{gloo::Collectives::kNoConnection,
                                         gloo::Collectives::kNoConnection};
    // Likewise, of all ends, wherever they are: for on_part.
    std::array<std::uint32_t, 2> parts{gloo::Collectives::kNoConnection,
                                       gloo::Collectives::kNoConnection};
  };

  // `ends` of the flow, its a as the source.
  Connection connect(const packet::Ends& ends);
  void disconnect(const Connection& connection);
  void take(const Connection& connection, std::uint8_t direction, const gloo::Message& message);
  // All messages of before have been taken. For whoever has a clock: messages, by which the ledger
  // knows the time otherwise, may stay away.
  void note_time(std::int64_t now_ns);
  // Nothing more will come.
  void finish();

  std::uint64_t messages() const;
  std::uint64_t connections() const;
  // After finish().
  std::vector<const CollectiveSum*> sums() const;

 private:
  void settle(std::int64_t now_ns);
  void add(const gloo::Collective& collective);
  bool is_own(const packet::Address& address) const;
  std::uint32_t connect_end(const packet::Ends& sending);
  void connect_parts(const packet::Ends& ends, Connection& made);

  mutable std::mutex mutex_;
  std::vector<packet::Address> own_addresses_;
  OnCollective on_collective_;
  OnCollective on_waiting_;
  OnPart on_part_;
  Joining joining_;
  gloo::Collectives collectives_;
  gloo::Collectives parts_;  // each end of each connection by itself; none without on_part
  std::vector<packet::Ends> sending_;  // by the number of such an end
  std::uint64_t messages_ = 0;
  std::uint64_t connections_ = 0;
  std::int64_t settled_ns_ = 0;
  std::map<gloo::Kind, std::unique_ptr<CollectiveSum>> sums_;
};

// Finds the TCP flows that carry Gloo and follows them. A flow is followed from the first segment
// on that begins like Gloo's, however late: a capture may begin in the middle of a message of any
// size, and the check is cheap. A table indexed by the flow's slot avoids any search. Bounded
// memory: a small entry per slot, a follower only for Gloo flows. The analyser's thread; the ledger
// outlives it.
class GlooWatch {
 public:
  // The flow in this slot is this connection of the ledger's from now on.
  using OnConnection =
      std::function<void(std::uint32_t slot, const GlooLedger::Connection& connection)>;

  // `on_connection` may be empty.
  explicit GlooWatch(GlooLedger& ledger, OnConnection on_connection = {})
      : ledger_(ledger), on_connection_(std::move(on_connection)) {}

  // A TCP packet with payload that is new. Of a flow that carries no Gloo only its first bytes are
  // looked at.
  void take(const packet::Packet& packet, const flow::Seen& seen) {
    const Entry* const entry = entries_.find(seen.slot);
    if ((entry != nullptr && entry->followed) || begins_like_gloo(packet, seen)) {
      take_gloo(packet, seen);
    }
  }
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

  // Offset of the new bytes. Negative: sent before the capture began, not usable.
  static std::int64_t offset_of(const flow::Seen& seen) { return seen.offset + seen.new_from; }

  static std::span<const std::uint8_t> new_bytes(const packet::Packet& packet,
                                                 const flow::Seen& seen) {
    const std::uint32_t skipped = std::min(seen.new_from, packet.captured_payload_bytes);
    return {packet.payload + skipped, packet.captured_payload_bytes - skipped};
  }

  static bool begins_like_gloo(const packet::Packet& packet, const flow::Seen& seen) {
    return offset_of(seen) >= 0 &&
           gloo::looks_like_gloo(static_cast<std::uint64_t>(offset_of(seen)),
                                 new_bytes(packet, seen));
  }

  void take_gloo(const packet::Packet& packet, const flow::Seen& seen);
  Entry& entry_of(const flow::Seen& seen);
  void follow(Followed& followed, const packet::Packet& packet, const flow::Seen& seen);
  void end(Entry& entry);

  GlooLedger& ledger_;
  OnConnection on_connection_;
  flow::SlotTable<Entry> entries_;
};

// Which flow of the record each of the ledger's connections is, and as which of its ends sees it.
// Of a ledger that reports parts, by the numbers of these. Set by the recorders when their flows
// get rows, read once per collective. Any thread.
class ConnectionFlows {
 public:
  struct End {
    record::Figure flow = {};
    std::int64_t end = 0;  // 0: a, 1: b
  };

  // `flow` 0: none, or none yet. A number that is reused belongs to another connection.
  void set(const GlooLedger::Connection& connection, std::int64_t flow) {
    const std::lock_guard lock(mutex_);
    const bool has_parts = connection.parts[0] != gloo::Collectives::kNoConnection;
    const auto& numbers = has_parts ? connection.parts : connection.numbers;
    for (std::uint8_t end = 0; end < 2; ++end) {
      if (numbers.at(end) != gloo::Collectives::kNoConnection) {
        flows_[numbers.at(end)] = {.flow = flow, .end = end};
      }
    }
  }

  End find(std::uint32_t connection) const {
    const std::lock_guard lock(mutex_);
    const Known* const known = flows_.find(connection);
    if (known == nullptr || known->flow == 0) {
      return {};
    }
    return {.flow = known->flow, .end = known->end};
  }

 private:
  struct Known {
    std::int64_t flow = 0;  // 0: not known
    std::uint8_t end = 0;
  };

  mutable std::mutex mutex_;
  flow::SlotTable<Known> flows_;  // by the connection's number
};

// Writes Gloo's collectives to a run record. Called under the ledger's lock, so by one thread at a
// time; the sink and the flows outlive it.
class CollectiveRecorder {
 public:
  // By connection, a row's communicator is the end of its flow whose part it is.
  CollectiveRecorder(record::Sink& sink, const ConnectionFlows& flows,
                     std::int64_t wall_to_monotonic_ns, Joining joining = Joining::ByGroup);

  record::Collective row_of(const gloo::Collective& collective) const;
  // Returns the row.
  record::Collective keep(const gloo::Collective& collective);
  // One that is not over: a row that stands for none.
  void keep_waiting(const gloo::Collective& collective);

 private:
  record::Figure monotonic(std::int64_t wall_ns) const;

  record::Producer producer_;
  const ConnectionFlows& flows_;
  std::int64_t wall_to_monotonic_ns_;
  Joining joining_;
};

}  // namespace chokepoint::capture::observer
