// Both ends of a test with nuttcp. The client drives a stock 'nuttcp -S': asks for a test, moves
// the data, and returns both ends' results. The client makes every data connection, so that a
// firewall in front of it does not matter. All but the streams runs on the caller's thread.
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
#include "probe/nuttcp/messages.h"
#include "probe/peer/datagram_meter.h"
#include "probe/peer/dial.h"
#include "probe/tcp/trial.h"

namespace chokepoint::probe::nuttcp {

using peer::ClientOptions;

struct TcpTest {
  net::Endpoint peer;
  Version version;
  tcp::Trial test;  // the server's half as far as nuttcp reports it
};

// One way at a time. nuttcp reports all streams together; it takes a block from each in turn, so
// each is given an equal share.
Result<TcpTest> run_tcp(const ClientOptions& options, const tcp::Parameters& parameters,
                        const tcp::Watcher& watcher);

struct UdpTest {
  net::Endpoint peer;
  Version version;
  bool interrupted = false;
  ResultText server;
  peer::DatagramMeasure measure;  // this end's
};

// One stream, whatever the parameters hold: nuttcp has no more. What the server sends comes to
// kDataPort of this host.
Result<UdpTest> run_udp(const ClientOptions& options, const Parameters& parameters);

// Answers stock nuttcp clients, one after the other; a client that comes while another test fills
// the path, of nuttcp's or of another kind, waits for its turn. Connections that send nothing, or
// what is no nuttcp greeting, stay with the acceptor and delay no test.
//
//   run() ── acceptor's thread ──► ConnectionQueue ──► test's thread ── ServerSession
//
// Data connections and UDP come from and go to the address of the client's control connection
// alone.

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

}  // namespace chokepoint::probe::nuttcp
