// The client of a test with iperf3. It drives a stock 'iperf3 -s': asks for a test, moves the data,
// and returns both ends' results. All but the streams runs on the caller's thread.
#pragma once

#include <vector>

#include "base/net/address.h"
#include "base/sys/error.h"
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

}  // namespace chokepoint::probe::iperf3
