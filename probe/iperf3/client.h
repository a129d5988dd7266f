// Drives a stock 'iperf3 -s': asks for a test, moves the data, and returns both ends' results.
// All but the streams runs on the caller's thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/net/address.h"
#include "base/net/socket.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "probe/iperf3/messages.h"
#include "probe/peer/datagram_meter.h"
#include "probe/tcp/trial.h"

namespace chokepoint::probe::iperf3 {

struct ClientOptions {
  net::HostPort peer;
  std::optional<net::Family> family = {};
  net::SocketOptions socket = {};  // source address and interface of every connection
  sys::Root root = sys::Root("/");
  int interrupt = -1;  // readable once the user wants to stop
};

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
  std::vector<peer::DatagramInterval> intervals = {};
};

Result<UdpTest> run_udp(const ClientOptions& options, const Parameters& parameters,
                        const peer::DatagramMeter::OnInterval& on_interval);

}  // namespace chokepoint::probe::iperf3
