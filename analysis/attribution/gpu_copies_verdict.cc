#include "analysis/attribution/gpu_copies_verdict.h"

namespace chokepoint::analysis {
namespace {

const char* cause_of(const GpuCopies& copies) {
  const double width = copies.link.width_share();
  const double speed = copies.link.speed_share();
  if (width < 1 || speed < 1) {
    return width <= speed ? "pcie-width" : "pcie-speed";
  }
  if (copies.link.is_shared()) {
    return "shared-link";
  }
  return copies.by_library_ms > copies.other_ms ? "gloo-copies" : "copies";
}

void add_link(const GpuCopies& copies, const std::string& from, Verdict& verdict) {
  const GpuLink& link = copies.link;
  const double share = link.width_share() * link.speed_share();
  const bool is_driver = link.is_by_driver;
  if (link.width_share() < 1) {
    verdict.evidence.push_back(
        {"its PCIe link under load has", link.current.width, "lanes",
         (is_driver ? "gpu.busy_pcie_width of " : "pcie.busy_width of ") + from});
    verdict.evidence.push_back(
        {"GPU and slot can do", link.possible.width, "lanes", "gpu.max_pcie_width of " + from});
  }
  if (link.speed_share() < 1) {
    verdict.evidence.push_back(
        {"its PCIe link under load runs at", link.current.speed_gts, "GT/s",
         (is_driver ? "gpu.busy_pcie_generation of " : "pcie.busy_speed_gts of ") + from});
    verdict.evidence.push_back({"GPU and slot can do", link.possible.speed_gts, "GT/s",
                                "gpu.max_pcie_generation of " + from});
  }
  if (share < 1) {
    verdict.evidence.push_back(
        {"of it a link at its best would save", copies.lost_ms * (1 - share), "ms a step", "both"});
  }
  if (link.is_shared()) {
    verdict.evidence.push_back({"GPUs of the job share the link at this port",
                                static_cast<double>(link.gpus.size()), "", "pci path of " + from});
  }
}

}  // namespace

Verdict verdict_of(const DiagnosisInput& input, const GpuCopies& copies) {
  const NodeData& node = input.run.nodes[copies.place];
  Verdict verdict{.verdict = VerdictClass::PcieGpu,
                  .cause = cause_of(copies),
                  .where = {.interface = copies.link.address, .node = node.name},
                  .lost_ms_per_step = copies.lost_ms};
  const std::string from = copies.link.address + " of " + node.name;
  add_link(copies, from, verdict);
  verdict.evidence.push_back(
      {"copied between the GPU and its host, the busier way", copies.busier_mbps(), "Mb/s",
       "gpu.pcie_sent_bytes_per_s, gpu.pcie_received_bytes_per_s of " + from});
  verdict.evidence.push_back({"what its PCIe link carries", copies.link.ceiling_mbps, "Mb/s",
                              "pcie.ceiling_mbps of " + from});
  verdict.evidence.push_back({"of the time no kernel ran",
                              100 * (1 - copies.kernels_ms / copies.step_ms), "%",
                              "gpu.utilization_percent of " + from});
  if (copies.by_library_ms > 0) {
    verdict.evidence.push_back({"of it to the host before an exchange by Gloo, and back after it",
                                std::min(copies.lost_ms, copies.by_library_ms), "ms a step",
                                "gpu.pcie_sent_bytes_per_s, flow totals of " + node.name});
  }
  return verdict;
}

}  // namespace chokepoint::analysis
