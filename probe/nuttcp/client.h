// The client of a test with nuttcp. It drives a stock 'nuttcp -S': asks for a test, moves the data,
// and returns both ends' results. The client makes every data connection, so that a
// firewall in front of it does not matter. All but the streams runs on the caller's thread.
#pragma once

#include <vector>

#include "base/net/address.h"
#include "base/sys/error.h"
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

// One direction at a time. nuttcp reports all streams together; it takes a block from each in turn,
// so each is given an equal share.
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

}  // namespace chokepoint::probe::nuttcp
