// The PCIe links that a node's GPUs copy over: each GPU's own, and those above that several of the
// job's GPUs share. What a link carries now, against what both of its ends could do. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/load/run_data.h"
#include "base/host/pci.h"

namespace chokepoint::analysis {

struct GpuLink {
  std::string address = {};            // the GPU's, or that of the port that several share
  std::vector<std::string> gpus = {};  // of the job, that copy over it
  double ceiling_mbps = 0;             // 0: not known
  host::PciLink current = {};          // under load; of a GPU's own link alone
  host::PciLink possible = {};         // of GPU and slot
  bool is_by_driver = false;           // NVML told of `current`, else sysfs

  bool is_shared() const { return gpus.size() > 1; }
  // Of what the link could carry; 1 where it is as good as it gets, or that is not known.
  double speed_share() const;
  double width_share() const;
};

std::vector<GpuLink> gpu_links(const NodeData& node, Span span);

}  // namespace chokepoint::analysis
