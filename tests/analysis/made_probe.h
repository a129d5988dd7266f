// Documents of probes that measured little, as a run record keeps them.
#pragma once

#include <string>

#include "base/documents/probe_latency.h"
#include "base/documents/probe_tcp.h"
#include "base/documents/probe_udp.h"
#include "tests/fakes/printed.h"

namespace chokepoint::analysis {

// One way, as the host that runs it calls it.
inline std::string made_tcp(documents::Direction way, const std::string& address, double mbps) {
  return fakes::printed_text(
      documents::ProbeTcp{.peer = {.address = address},
                          .direction = way,
                          .ways = {.only = documents::TcpFigures{.throughput_mbps = mbps}}});
}

inline std::string made_tcp_both(const std::string& address, double sent_mbps,
                                 double received_mbps) {
  return fakes::printed_text(documents::ProbeTcp{
      .peer = {.address = address},
      .direction = documents::Direction::Both,
      .ways = {.send = documents::TcpFigures{.throughput_mbps = sent_mbps},
               .receive = documents::TcpFigures{.throughput_mbps = received_mbps}}});
}

inline std::string made_latency(const std::string& address, double min_ms) {
  return fakes::printed_text(documents::ProbeLatency{
      .peer = {.address = address}, .idle_ms = documents::RoundTrips{.min = min_ms, .count = 1}});
}

}  // namespace chokepoint::analysis
