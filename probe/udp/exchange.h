// The small packets of a test: greetings and pings, one at a time, beside the data. Functions on a
// descriptor that stays the caller's and is prepared by prepare_receiving; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "base/net/address.h"
#include "base/net/patience.h"
#include "probe/udp/clock_offset.h"
#include "probe/udp/flow_meter.h"
#include "probe/udp/packet.h"

namespace chokepoint::probe::udp {

struct Exchanged {
  PacketHead head = {};
  ExchangePacket packet = {};
  net::Endpoint from = {};
  std::int64_t arrived_ns = 0;
};

// To the connected peer. What the kernel refuses is lost, as on the way.
void send_exchange(int fd, const ExchangePacket& packet);

// The next one that waits; what is no such packet is thrown away. Nothing where none waits.
std::optional<Exchanged> receive_exchange(int fd);

// Answers the pings of this test that wait on a connected socket.
void answer_pings(int fd, std::uint64_t test);

// Asks the peer for its time, again and again for a third of a second at most: how far its clock is
// from this one's. Nothing where it does not answer.
std::optional<ClockOffset> measure_offset(int fd, const FlowIdentity& flow,
                                          const net::Patience& patience);

}  // namespace chokepoint::probe::udp
