// probe udp against iperf3 and nuttcp: the run, and what is shown of it. These programs tell less
// than this project's own server; what they do not tell is null in the document and "not told" on
// the page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probe/commands/foreign_peer.h"
#include "probe/udp/parameters.h"

namespace chokepoint::probe {

struct ForeignUdpPlan {
  udp::Parameters parameters = {};
  std::size_t packet_bytes = 0;
  std::optional<int> dscp = {};
};

// One direction.
struct ForeignUdpOutcome {
  udp::Direction direction = udp::Direction::Send;
  double duration_s = 0;
  double offered_mbps = 0;
  double throughput_mbps = 0;
  std::uint64_t bytes = 0;
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t lost = 0;
  std::optional<std::uint64_t> out_of_order = {};
  std::optional<std::uint64_t> duplicates = {};
  std::optional<double> jitter_ms = {};
};

struct ForeignUdp {
  std::vector<ForeignUdpOutcome> directions;
  net::Endpoint peer;
  std::string software;
  bool interrupted = false;
};

Result<ForeignUdp> run_foreign(Foreign foreign, const ForeignHost& host, const ForeignUdpPlan& plan,
                               int interrupt);

// Into `document`, which has its head already.
void add_to(cli::Json& document, const ForeignUdpPlan& plan, const ForeignUdp& measured);
void print_page(const cli::Context& context, const ForeignUdp& measured);

}  // namespace chokepoint::probe
