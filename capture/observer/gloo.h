// Gloo in the captured traffic: each analyser's GlooWatch finds and follows the flows that carry
// it; one GlooLedger joins the messages of all analysers to collectives; CollectiveRecorder writes
// these to the run record.
//
//   analyser ─ GlooWatch ─┐
//   analyser ─ GlooWatch ─┴─ messages ─▶ GlooLedger ─ collectives ─▶ CollectiveRecorder
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/math/histogram.h"
#include "base/record/samples.h"
#include "base/record/writer.h"
#include "capture/flow/engine.h"
#include "capture/flow/slot_table.h"
#include "capture/gloo/collectives.h"
#include "capture/gloo/follower.h"
#include "capture/gloo/message.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

std::string_view kind_text(gloo::Kind kind);  // "all-reduce"

// Collectives of one kind.
struct CollectiveSum {
  gloo::Kind kind = gloo::Kind::Unknown;
  std::uint64_t count = 0;
  std::uint64_t sent_bytes = 0;  // as this node sees it
  std::uint64_t received_bytes = 0;
  math::Histogram duration_ns = {};
};

// Collectives from the messages of all analysers, and sums of them by kind. One lock per message,
// none per packet: a collective consists of some dozens of messages. Any thread.
class GlooLedger {
 public:
  using OnCollective = gloo::Collectives::See;

  // Flows are described from the end that has one of these addresses; others from the end that was
  // seen first. `on_collective` may be empty; it is called under the lock, by any thread.
  explicit GlooLedger(std::vector<packet::Address> own_addresses = {},
                      OnCollective on_collective = {});

  struct Connection {
    std::uint32_t number = gloo::Collectives::kNoConnection;
    std::uint8_t sending = 0;  // the direction in which this node sends
  };

  // `ends` of the flow, its a as the source.
  Connection connect(const packet::Ends& ends);
  void disconnect(const Connection& connection);
  void take(const Connection& connection, std::uint8_t direction, const gloo::Message& message);
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

  mutable std::mutex mutex_;
  std::vector<packet::Address> own_addresses_;
  OnCollective on_collective_;
  gloo::Collectives collectives_;
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
  flow::SlotTable<Entry> entries_;
};

// Which flow of the record each of the ledger's connections is. Set by the recorders when their
// flows get rows, read once per collective. Any thread.
class ConnectionFlows {
 public:
  // `flow` 0: none, or none yet. A number that is reused belongs to another connection.
  void set(std::uint32_t connection, std::int64_t flow) {
    if (connection == gloo::Collectives::kNoConnection) {
      return;
    }
    const std::lock_guard lock(mutex_);
    flows_[connection] = flow;
  }

  record::Figure flow(std::uint32_t connection) const {
    const std::lock_guard lock(mutex_);
    const std::int64_t* const flow = flows_.find(connection);
    return flow == nullptr || *flow == 0 ? record::Figure() : record::Figure(*flow);
  }

 private:
  mutable std::mutex mutex_;
  flow::SlotTable<std::int64_t> flows_;  // by the connection's number; 0: not known
};

// Writes Gloo's collectives to a run record. Called under the ledger's lock, so by one thread at a
// time; the writer and the flows outlive it.
class CollectiveRecorder {
 public:
  CollectiveRecorder(record::Writer& writer, const ConnectionFlows& flows,
                     std::int64_t wall_to_monotonic_ns);

  // Returns the row.
  record::Collective keep(const gloo::Collective& collective);

 private:
  record::Collective row_of(const gloo::Collective& collective) const;
  record::Figure monotonic(std::int64_t wall_ns) const;

  record::Producer producer_;
  const ConnectionFlows& flows_;
  std::int64_t wall_to_monotonic_ns_;
};

}  // namespace chokepoint::capture::observer
