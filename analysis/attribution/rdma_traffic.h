// A job whose data go by RDMA: whether it is one, its phases, what the counters of its hosts' RDMA
// ports show, and what RoCE packets show where the kernel sees them. Of cards that bypass the
// kernel there are counters only. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/phases/phases.h"

namespace chokepoint::analysis {

struct RdmaPort {
  std::string node = {};
  std::string name = {};    // "mlx5_0/1"
  std::string netdev = {};  // empty: none, or unknown
  bool is_software = false;
  std::optional<double> line_mbps = {};
  bool counts_bytes = true;  // else bytes are estimated from packets, as a lower bound
  double sent_bytes = 0;
  double received_bytes = 0;
  double packets = 0;    // sent; 0: unknown
  double resent = 0;     // signs of loss at a sender: NAKs, time-outs, retransmissions
  double missed = 0;     // and at a receiver: out of sequence
  double timeouts = 0;   // of those, without any reply
  double slowed = 0;     // signs of congestion: notifications handled, marks, pauses without a time
  double paused_ms = 0;  // by the network or the peer, in all
  double pausing_ms = 0;  // that this host requested of others

  double busier_bytes() const { return std::max(sent_bytes, received_bytes); }
  double lost() const { return std::max(resent, missed); }
};

// Those of all nodes that moved data while steps were settled, the busiest first.
std::vector<RdmaPort> all_rdma_ports(const RunData& run, const Clocks& clocks,
                                     const StepLine& steps);

// What the line of the port that needs most takes for a step's bytes; 0 where no line is known.
double wire_ms(const std::vector<RdmaPort>& ports, double steps);

// RoCE packets from one node to another, of all queue pairs, while steps were settled.
struct RoceDirection {
  std::string from = {};
  std::string to = {};
  double packets = 0;
  double payload_bytes = 0;
  double resent_packets = 0;
  double missing = 0;       // the larger of the receiver's NAKs and gaps that were filled
  double marks = 0;         // ECN "congestion experienced"
  double marked_ns = 0;     // in bins with marks
  double resending_ns = 0;  // spent on retransmitting

  double lossiness() const { return packets > 0 ? missing / packets : 0; }
  double markedness() const { return packets > 0 ? marks / packets : 0; }
};

struct RoceView {
  std::vector<RoceDirection> directions = {};
  double waited_ns = 0;  // in which nothing passed until a retransmission

  bool is_seen() const { return !directions.empty(); }
  // Of all steps: waiting for what was lost, and retransmitting it. Ways share the time.
  double loss_ns() const;
  const RoceDirection* most_lossy() const;   // null where none misses anything
  const RoceDirection* most_marked() const;  // null where none is marked
};

RoceView roce_view(const RunData& run, const Clocks& clocks, const StepLine& steps);

// Whether most of the job's data go by RDMA, by the ports' counters.
bool goes_by_rdma(const RunData& run, const Clocks& clocks, const StepLine& steps);

// The phases that rest on sockets mean nothing for such a job. `seen` if the library reported its
// collectives, else when packets passed. If neither is known the whole step counts as exposed,
// unless the line needs too little of it to matter.
Phases rdma_phases(const RunData& run, const Clocks& clocks, const StepLine& steps, Phases seen);

}  // namespace chokepoint::analysis
