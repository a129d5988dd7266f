// How the two ends of a test get UDP sockets that are connected to each other. A client that forges
// its address cannot make the server send more bytes there than it received:
//
//   client                                              server
//     ◄──── Ready {test, flows [{port, secret}…]}          over TCP
//     Hello {test, stream, secret} ═══════════════►        over UDP; ignored unless it comes from
//                                                          the control connection's address
//     ◄══════════════ Welcome {test, stream, proof}        as long as the Hello, one for each
//     Note {proofs […]} ───────────────────────────►       over TCP: the Welcomes arrived
//     ◄────────────────────────────── Note {}              from here on data may be sent
//
// A Hello is repeated until its Welcome arrives. Flows own their sockets. One thread at each end.
#pragma once

#include <cstdint>
#include <vector>

#include "base/control/client.h"
#include "base/control/session.h"
#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/net/socket.h"
#include "base/sys/descriptor.h"
#include "probe/udp/parameters.h"

namespace chokepoint::probe::udp {

// One flow of a test at one end, with its connected UDP socket.
struct Flow {
  sys::Descriptor fd = {};
  std::uint8_t stream = 0;
  bool sends = false;  // this end sends the data
};

struct Flows {
  std::uint64_t test = 0;
  std::vector<Flow> flows = {};
  std::int64_t room_bytes = 0;  // the sockets' receive buffer
};

// The server's side: sends Ready, and waits until every flow has its peer.
Result<Flows> meet_client(control::Session& session, const Parameters& parameters);

// The client's side. `ready`: the body of the server's Ready.
Result<Flows> meet_server(control::Client& client, const Parameters& parameters,
                          const control::Json& ready, const net::SocketOptions& options,
                          const net::Deadline& deadline);

// A flow's socket, bound to any port of `local` and prepared to receive. The size of its receive
// buffer is stored in `room_bytes`.
Result<sys::Descriptor> open_flow(const net::Address& local, const net::SocketOptions& options,
                                  std::int64_t& room_bytes);

// Connects the socket to this peer and makes it blocking with a short timeout.
Result<> bind_flow_to(int fd, const net::Endpoint& peer);

}  // namespace chokepoint::probe::udp
