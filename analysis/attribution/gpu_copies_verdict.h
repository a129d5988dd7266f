// Copies over one PCIe link of a node, and what is said of them: whose fault, by which numbers.
// Pure.
#pragma once

#include <algorithm>

#include "analysis/attribution/gpu_links.h"
#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

// Of one link, in milliseconds a step.
struct GpuCopies {
  std::size_t place = 0;
  GpuLink link = {};
  double sent_ms = 0;      // from the GPUs to the host, at what the link can carry
  double received_ms = 0;  // to the GPUs
  double kernels_ms = 0;
  double by_library_ms = 0;  // Gloo's, both ways, that communication did not hide
  double other_ms = 0;       // the rest, as far as it was not beside kernels
  double own_late_ms = 0;    // of the node's lateness
  double lost_ms = 0;        // of all this
  double step_ms = 0;

  double busier_mbps() const {
    return link.ceiling_mbps * std::max(sent_ms, received_ms) / step_ms;
  }
};

Verdict verdict_of(const DiagnosisInput& input, const GpuCopies& copies);

}  // namespace chokepoint::analysis
