// Drives a stock 'nuttcp -S': asks for a test, moves the data, and returns both ends' results. The
// client makes every data connection, so that a firewall in front of it does not matter. All but
// the streams runs on the caller's thread.
#pragma once

#include <optional>
#include <vector>

#include "base/net/address.h"
#include "base/net/socket.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "probe/nuttcp/messages.h"
#include "probe/peer/datagram_meter.h"
#include "probe/tcp/trial.h"

namespace chokepoint::probe::nuttcp {

struct ClientOptions {
  net::HostPort peer;
  std::optional<net::Family> family = {};
  std::uint16_t data_port = kDataPort;
  net::SocketOptions socket = {};  // source address and interface of every connection
  sys::Root root = sys::Root("/");
  int interrupt = -1;  // readable once the user wants to stop
};

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
  std::vector<peer::DatagramInterval> intervals = {};
};

// One stream, whatever the parameters say: nuttcp has no more. What the server sends comes to
// `data_port` of this host.
Result<UdpTest> run_udp(const ClientOptions& options, const Parameters& parameters,
                        const peer::DatagramMeter::OnInterval& on_interval);

}  // namespace chokepoint::probe::nuttcp
