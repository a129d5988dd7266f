// Both ends of a test with iperf3. The client drives a stock 'iperf3 -s': asks for a test, moves
// the data, and returns both ends' results. All but the streams runs on the caller's thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/control/limits.h"
#include "base/control/test_queue.h"
#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "probe/iperf3/messages.h"
#include "probe/peer/datagram_meter.h"
#include "probe/peer/dial.h"
#include "probe/tcp/trial.h"

namespace chokepoint::probe::iperf3 {

using peer::ClientOptions;

struct TcpTest {
  net::Endpoint peer;
  tcp::Trial test;  // the server's half as far as iperf3 reports it
};

// The server's half has no intervals, no round-trip time and no window: iperf3 reports none.
Result<TcpTest> run_tcp(const ClientOptions& options, const tcp::Parameters& parameters,
                        const tcp::Watcher& watcher);

struct UdpTest {
  net::Endpoint peer;
  bool interrupted = false;
  EndResults server;
  std::vector<peer::DatagramMeasure> measures = {};  // this end's
};

Result<UdpTest> run_udp(const ClientOptions& options, const Parameters& parameters);

// Answers stock iperf3 clients, one test at a time as 'iperf3 -s' does; a client that comes while
// another test fills the path, of iperf3's or of another kind, is refused as busy. Connections that
// send nothing, or what is no cookie, stay with the acceptor and delay no test.
//
//   run() ── acceptor's thread ─ Lobby::arrive ─► a client, or a stream of the client that is
//   served
//        └── test's thread ── Lobby::next_client ── ServerSession
//
// UDP is sent only to the address of the client's control connection, and there only to the ports
// that greeted this server.

struct ServerOptions {
  // Shared with every other kind of test on this host, so that none runs into another. Outlives
  // serve().
  control::TestQueue& test_queue;
  control::Limits limits = {};
  sys::Root root = sys::Root("/");
  // A line for the operator's log. Called from the test's thread.
  std::function<void(const std::string& line)> log = [](const std::string&) {};
};

// Until `stop` is readable. Every thread has ended and every socket is closed on return.
Result<> serve(std::vector<sys::Descriptor> listeners, const ServerOptions& options, int stop);

}  // namespace chokepoint::probe::iperf3
