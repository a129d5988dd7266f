// QUIC's protocol "perf" (draft-banks-quic-performance-00), in both roles: what other programs
// measure QUIC with, as 'iperf3' is for TCP. There is no control connection, and neither end
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
// The client runs on its caller's thread. The server's gate has serve_perf()'s thread, and the one
// client that it serves at a time another.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/control/limits.h"
#include "base/control/test_queue.h"
#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "probe/peer/dial.h"
#include "probe/quic/parameters.h"
#include "probe/quic/test.h"

namespace chokepoint::probe::quic {

// What quinn's, msquic's and most other servers of it listen on.
inline constexpr std::uint16_t kPerfPort = 4433;

struct PerfTest {
  net::Endpoint peer;
  Trial trial;  // the server's half as far as its acknowledgements tell
};

// Takes any certificate. Data both ways travels on streams of its own each way.
Result<PerfTest> run_perf(const peer::ClientOptions& host, const Parameters& parameters,
                          const Watcher& watcher);

struct PerfServerOptions {
  // Shared with every other kind of test on this host. Outlives serve_perf().
  control::TestQueue& test_queue;
  control::Limits limits = {};
  sys::Root root = sys::Root("/");
  // A line for the operator's log. Called from both threads.
  std::function<void(const std::string& line)> log = [](const std::string&) {};
};

// A UDP socket for clients of any address; the error is that of net::bind_udp().
Result<sys::Descriptor> listen_perf(const net::Endpoint& local);

// Until `stop` is readable. One client at a time: another is refused while it is served, or while
// another test fills the path. Its thread has ended and every socket is closed on return.
Result<> serve_perf(std::vector<sys::Descriptor> listeners, const PerfServerOptions& options,
                    int stop);

}  // namespace chokepoint::probe::quic
