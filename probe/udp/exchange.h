// The small packets of a test, greetings and pings, sent one at a time beside the data; and the
// offset of the peer's clock that pings measure:
//
//   asker     t1 ────────────────▶ t2     answerer
//             t4 ◀──────────────── t3
//
// offset = ((t2 - t1) + (t3 - t4)) / 2 is exact where both directions take equally long; its error
// is never larger than half the round trip. So of many pings the one with the shortest round trip
// counts, and half of that is the uncertainty, plus that of reading two clocks at one moment.
//
// Descriptors stay the caller's and are prepared by prepare_receiving; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "base/net/address.h"
#include "base/net/deadline.h"
#include "probe/udp/packet.h"

namespace chokepoint::probe::udp {

struct ClockOffset {
  std::int64_t offset_ns = 0;  // the answerer's clock less the asker's
  std::int64_t uncertainty_ns = 0;
  std::int64_t round_trip_ns = 0;

  // The same, seen from the answerer.
  ClockOffset turned() const { return {-offset_ns, uncertainty_ns, round_trip_ns}; }
};

class OffsetFilter {
 public:
  void add(std::int64_t asked_ns, const PongTimes& pong, std::int64_t answered_ns);
  const std::optional<ClockOffset>& best() const { return best_; }

 private:
  std::optional<ClockOffset> best_;
};

// From one measurement before and one after a run: the uncertainty grows by the clocks' drift.
std::optional<ClockOffset> combined(const std::optional<ClockOffset>& before,
                                    const std::optional<ClockOffset>& after);

struct Exchanged {
  PacketHead head = {};
  ExchangePacket packet = {};
  net::Endpoint from = {};
  std::int64_t arrived_ns = 0;
};

// The number of a test, which its packets carry so that others do not count: it is sent over the
// control connection, whose JSON numbers are signed.
std::uint64_t random_test();

// To the connected peer. A packet that the kernel refuses counts as lost.
void send_exchange(int fd, const ExchangePacket& packet);

// The next one that has arrived, or nullopt. Other packets are discarded.
std::optional<Exchanged> receive_exchange(int fd);

// Answers the pings of this test that have arrived on a connected socket.
void answer_pings(int fd, std::uint64_t test);

// Pings the peer for up to a third of a second. nullopt where it does not answer.
std::optional<ClockOffset> measure_offset(int fd, const FlowIdentity& flow,
                                          const net::Deadline& deadline);

}  // namespace chokepoint::probe::udp
