// Documents of probes that measured little, as a run record keeps them.
#pragma once

#include <optional>
#include <string>

#include "base/documents/probe_latency.h"
#include "base/documents/probe_path.h"
#include "base/documents/probe_tcp.h"
#include "base/documents/probe_udp.h"
#include "tests/fakes/printed.h"

namespace chokepoint::analysis {

// One way, as the host that runs it calls it.
inline std::string made_tcp(documents::Direction way, const std::string& address, double mbps) {
  return fakes::printed_text(documents::ProbeTcp{
      .peer = {.address = address},
      .direction = way,
      .by_direction = {.only = documents::TcpFigures{.throughput_mbps = mbps}}});
}

inline std::string made_tcp_both(const std::string& address, double sent_mbps,
                                 double received_mbps) {
  return fakes::printed_text(documents::ProbeTcp{
      .peer = {.address = address},
      .direction = documents::Direction::Both,
      .by_direction = {.send = documents::TcpFigures{.throughput_mbps = sent_mbps},
                       .receive = documents::TcpFigures{.throughput_mbps = received_mbps}}});
}

inline std::string made_latency(const std::string& address, double min_ms) {
  return fakes::printed_text(documents::ProbeLatency{
      .peer = {.address = address}, .idle_ms = documents::RoundTrips{.min = min_ms, .count = 1}});
}

// A path to 10.0.0.2 that ends with a router, or the peer, of this address, or with one that did
// not answer.
inline std::string made_path(const std::optional<std::string>& last, double rtt_ms) {
  documents::PathHops hops{{.ttl = 1}};
  if (last) {
    hops.push_back({.ttl = 2, .address = net::Address::parse(*last).value(), .rtt_ms = rtt_ms});
  }
  return fakes::printed_text(documents::ProbePath{
      .peer = {.address = net::Address::parse("10.0.0.2").value()}, .forward = hops});
}

}  // namespace chokepoint::analysis
