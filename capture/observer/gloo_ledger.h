// Messages of Gloo from all analysers, put together to collectives, and a sum of those by kind. A
// lock a message, none a packet: there are some dozens of messages to a collective. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/math/histogram.h"
#include "capture/gloo/collectives.h"
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

class GlooLedger {
 public:
  using OnCollective = gloo::Collectives::See;

  // Flows that have one of these addresses are told from that end; others from the end that was
  // seen first. `on_collective` may be empty; it is called under the lock, by whatever thread.
  explicit GlooLedger(std::vector<packet::Address> own_addresses = {},
                      OnCollective on_collective = {});

  struct Connection {
    std::uint32_t number = gloo::Collectives::kNoConnection;
    std::uint8_t sending = 0;  // the direction in which this node sends
  };

  // `ends` of the flow, a the source.
  Connection connect(const packet::Ends& ends);
  void disconnect(const Connection& connection);
  void take(const Connection& connection, std::uint8_t direction, const gloo::Message& message);
  // Everything is over.
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

}  // namespace chokepoint::capture::observer
