// The server's end of an RDMA test.
//
//   client                                        server
//     Request {parameters, side} ──────────────────►   opens its device, makes a queue pair
//     ◄────────────────────────── Ready {side, …}      both negotiate: the same from the same facts
//
//     Begin {round, plan, client} ─────────────────►   a round each size: queue pairs anew
//     ◄─────────────────────────────── Note {cm}       by rdma_cm only: where it listens
//     ◄──────────────────────────── Begin {server}     it is connected, receives are posted
//     Note {} ─────────────────────────────────────►   so is the client; both start
//     ◄═══════════════ RDMA ═══════════════════════►
//     Stop {messages, early} ──────────────────────►
//     ◄────────────────────────────── Report {result}  with check: once the memory was looked at
//     …                                                the next round
//     Stop {} ─────────────────────────────────────►
//     ◄─────────────────────────── Result {counters}
//
// All that the peer can reach of this host is one buffer, registered while the test lasts. The
// service runs on the session's thread.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/control/service.h"
#include "base/net/address.h"
#include "rdma/session/side.h"
#include "rdma/verbs/device.h"

namespace chokepoint::rdma::session {

inline constexpr std::string_view kKind = "rdma";

// Called for each test, on its own thread.
using OpenLibrary = std::function<std::unique_ptr<verbs::Library>()>;

// A RoCE device sends to the GID that the client gives. A client without a key is sent nothing but
// to the address that it has: else it could point this server's traffic at others. On InfiniBand
// nothing is checked, because a LID is no address that a connection has. Who comes over loopback
// can send from this host anyway.
Result<> check_unproved_gid(const verbs::Gid& gid, const SideFacts& client,
                            const net::Address& client_address);

std::unique_ptr<control::Service> rdma_service(OpenLibrary open);

}  // namespace chokepoint::rdma::session
