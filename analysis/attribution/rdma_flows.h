// What packets say of a job that goes by RoCE, where its ports' packets pass the kernel: between
// two nodes, what was sent again, what receivers missed, what switches marked, and the time that
// went into sending again. Cards that bypass the kernel show none of it; there the ports' counters
// are all there is (rdma_ports.h). Pure.
#pragma once

#include <string>
#include <vector>

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

// From one node to another, of all queue pairs, while steps were settled.
struct RoceWay {
  std::string from = {};
  std::string to = {};
  double packets = 0;
  double payload_bytes = 0;
  double resent_packets = 0;
  double missing = 0;       // NAKs of the receiver, or gaps that were filled: whichever is more
  double marks = 0;         // ECN "congestion experienced"
  double resending_ns = 0;  // in which it sent what had been sent before

  double lossiness() const { return packets > 0 ? missing / packets : 0; }
  double markedness() const { return packets > 0 ? marks / packets : 0; }
};

struct RoceView {
  std::vector<RoceWay> ways = {};
  double waited_ns = 0;  // in which nothing passed until something was sent again

  bool is_seen() const { return !ways.empty(); }
  // Of all steps: waiting for what was lost, and sending it again. Ways share the time.
  double loss_ns() const;
  const RoceWay* most_lossy() const;   // null where none misses anything
  const RoceWay* most_marked() const;  // null where none is marked
};

RoceView roce_view(const RunData& run, const Clocks& clocks, const StepLine& steps);

}  // namespace chokepoint::analysis
