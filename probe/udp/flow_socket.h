// A flow's socket as both ends make it. A function without state; any thread.
#pragma once

#include "base/net/address.h"
#include "base/net/socket.h"
#include "probe/udp/flow.h"

namespace chokepoint::probe::udp {

// Bound to any port of `local`, with room and notes for receiving; what was granted goes into
// `room_bytes`.
Result<sys::Descriptor> open_flow(const net::Address& local, const net::SocketOptions& options,
                                  std::int64_t& room_bytes);

// Speaks to this peer only, from a thread that blocks on it for moments.
Result<> bind_flow_to(int fd, const net::Endpoint& peer);

}  // namespace chokepoint::probe::udp
