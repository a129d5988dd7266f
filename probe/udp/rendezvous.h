// How the two ends of a test come to UDP sockets that know each other. Nobody who only pretends to
// have an address gets a single packet sent there that it did not pay for, byte by byte:
//
//   client                                              server
//     ◄──── Ready {test, flows [{port, secret}…]}          over TCP
//     Hello {test, stream, secret} ═══════════════►        over UDP, from the address that the
//                                                          control connection comes from, or
//                                                          ignored
//     ◄══════════════ Welcome {test, stream, proof}        as long as the Hello, one for each
//     Note {proofs […]} ───────────────────────────►       over TCP: the Welcomes arrived
//     ◄────────────────────────────── Note {}              from here on there may be data
//
// A Hello is repeated until its Welcome comes. One thread at each end.
#pragma once

#include "base/control/client.h"
#include "base/control/session.h"
#include "base/net/patience.h"
#include "probe/udp/flow.h"
#include "probe/udp/parameters.h"

namespace chokepoint::probe::udp {

// Sends Ready, and waits until every flow has its peer.
Result<Flows> meet_client(control::Session& session, const Parameters& parameters);

// `ready`: the body of the server's Ready.
Result<Flows> meet_server(control::Client& client, const Parameters& parameters,
                          const control::Json& ready, const net::SocketOptions& options,
                          const net::Patience& patience);

}  // namespace chokepoint::probe::udp
