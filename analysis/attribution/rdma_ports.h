// What the counters of a host's RDMA ports say of a span. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/attribution/counters.h"
#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

struct RdmaPort {
  std::string node = {};
  std::string name = {};    // "mlx5_0/1"
  std::string netdev = {};  // empty: none, or unknown
  bool is_software = false;
  std::optional<double> line_mbps = {};
  double sent_bytes = 0;  // at least: of a port that counts packets alone
  double received_bytes = 0;
  double packets = 0;    // sent; 0: unknown
  double resent = 0;     // signs of loss of a sender: NAKs, time-outs, what was sent again
  double missed = 0;     // and of a receiver: out of sequence
  double timeouts = 0;   // of those sent again, for want of any answer
  double slowed = 0;     // signs of congestion: notifications handled, marks, pauses without a time
  double paused_ms = 0;  // by the network or the peer, in all
  double pausing_ms = 0;  // that this host asked others to pause

  double busier_bytes() const { return std::max(sent_bytes, received_bytes); }
  double lost() const { return std::max(resent, missed); }
};

// Those that moved anything, the busiest first.
std::vector<RdmaPort> rdma_ports(const NodeData& node, Span span);

// Of all nodes, while steps were settled.
std::vector<RdmaPort> all_rdma_ports(const RunData& run, const Clocks& clocks,
                                     const StepLine& steps);

// What the line of the port that needs most takes for a step's bytes; 0 where no line is known.
double wire_ms(const std::vector<RdmaPort>& ports, double steps);

}  // namespace chokepoint::analysis
