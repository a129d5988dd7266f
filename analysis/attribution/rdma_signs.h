// What counters and packets together say of loss and congestion on RDMA, and the evidence made of
// it. Pure.
#pragma once

#include <vector>

#include "analysis/attribution/rdma_flows.h"
#include "analysis/attribution/rdma_ports.h"
#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

struct RdmaSigns {
  std::vector<RdmaPort> ports = {};  // the busiest first; never empty where signs are judged
  RoceView view = {};
  double steps = 1;      // in which they counted
  double length_ms = 1;  // of these

  bool is_lossy() const;
  bool is_congested() const;
  double paused_ms() const;   // of the port paused longest, in all
  double waiting_ms() const;  // for time-outs, at least, of the port that waited longest, in all

  const RdmaPort& most_lossy_port() const;
  const RdmaPort& most_congested_port() const;
};

RdmaSigns rdma_signs(const DiagnosisInput& input);

// From the sender that sent again to the receiver that missed it, as far as packets or counters
// tell; and the port to look at.
Where where_lost(const RdmaSigns& signs);
Where where_congested(const RdmaSigns& signs);

void add_signs(const RdmaPort& port, double length_ms, std::vector<Evidence>& evidence);
void add_view(const RdmaSigns& signs, std::vector<Evidence>& evidence);

}  // namespace chokepoint::analysis
