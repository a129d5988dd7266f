// The client of QUIC's protocol "perf" (draft-banks-quic-performance-00), with which other programs
// measure QUIC as iperf3 measures TCP. There is no control connection, and neither end
// reports what it measured.
//
//   client                                              server
//     Initial ═══════════════════════════════════════►
//     ◄══════════════════════════════════════ Retry        this project's server alone: shows that
//     Initial with the token ════════════════════════►     the client's address is its own
//     handshake, ALPN "perf" ═════════════════════════
//     stream: 8 bytes N, then any number, end ═══════►    data to the server; N: bytes wanted back
//     ◄═══════════════════════════════════ N bytes, end   all ones: until the client has enough
//     CONNECTION_CLOSE ══════════════════════════════►
//
// All of it on the caller's thread.
#pragma once

#include <cstdint>

#include "base/net/address.h"
#include "base/sys/error.h"
#include "probe/peer/dial.h"
#include "probe/quic/parameters.h"
#include "probe/quic/test.h"

namespace chokepoint::probe::quic {

// What quinn's, msquic's and most other servers of it listen on.
inline constexpr std::uint16_t kPerfPort = 4433;

struct PerfTest {
  net::Endpoint peer;
  Trial trial;  // the server's half as far as its acknowledgements show
};

// Takes any certificate. Data both ways travels on streams of its own each way.
Result<PerfTest> run_perf(const peer::ClientOptions& host, const Parameters& parameters,
                          const Watcher& watcher);

}  // namespace chokepoint::probe::quic
