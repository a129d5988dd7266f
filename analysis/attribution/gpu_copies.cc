#include "analysis/attribution/gpu_copies.h"

#include <algorithm>

#include "analysis/attribution/counters.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

struct Copies {
  const NodeData* node = nullptr;
  std::string gpu = {};
  double mbps = 0;          // the busier way
  double ceiling_mbps = 0;  // of the link
  double idle_share = 1;    // of the time no kernel ran
  double lost_ms = 0;       // a step
};

Copies copies_of(const Scene& scene, std::size_t place, const std::string& gpu) {
  const NodeData& node = scene.run.nodes[place];
  const Span span = scene.span_of(place);
  Copies copies{.node = &node, .gpu = gpu};
  const double bytes_per_s =
      std::max(mean_over(node, record::kGpuPcieSent, gpu, span).value_or(0),
               mean_over(node, record::kGpuPcieReceived, gpu, span).value_or(0));
  copies.mbps = bytes_per_s * 8 / 1e6;
  const SeriesData* ceiling = node.find(record::kPcieCeiling, gpu);
  // A GPU that rests lets its link fall back.
  copies.ceiling_mbps = ceiling == nullptr ? 0 : most_level(*ceiling, span).value_or(0);
  copies.idle_share =
      std::clamp(1 - mean_over(node, record::kGpuUtilization, gpu, span).value_or(0) / 100, 0., 1.);
  if (copies.ceiling_mbps > 0) {
    const double step_ms = scene.phases.step_ms;
    const double copied_ms = step_ms * std::min(1.0, copies.mbps / copies.ceiling_mbps);
    const double elsewhere_ms = scene.phases.exposed_ms + scene.phases.waiting_ms();
    copies.lost_ms = std::min({copied_ms, std::max(0.0, copies.idle_share * step_ms - elsewhere_ms),
                               scene.phases.computing_ms});
  }
  return copies;
}

Verdict verdict_of(const Copies& copies) {
  Verdict verdict{.verdict = VerdictClass::PcieGpu,
                  .cause = "copies",
                  .where = {.interface = copies.gpu, .node = copies.node->name},
                  .lost_ms_per_step = copies.lost_ms};
  const std::string from = copies.gpu + " of " + copies.node->name;
  verdict.evidence = {
      {"copied between the GPU and its host, the busier way", copies.mbps, "Mb/s",
       "gpu.pcie_sent_bytes_per_s, gpu.pcie_received_bytes_per_s of " + from},
      {"what its PCIe link carries", copies.ceiling_mbps, "Mb/s", "pcie.ceiling_mbps of " + from},
      {"of the time no kernel ran", 100 * copies.idle_share, "%",
       "gpu.utilization_percent of " + from}};
  return verdict;
}

}  // namespace

void add_gpu_copies(const Scene& scene, Findings& findings) {
  Copies most;
  for (std::size_t place = 0; place < scene.run.nodes.size(); ++place) {
    for (const std::string& gpu : job_gpus(scene.run.nodes[place])) {
      Copies copies = copies_of(scene, place, gpu);
      most = copies.lost_ms > most.lost_ms ? std::move(copies) : most;
    }
  }
  if (most.node != nullptr) {
    findings.accounting[Account::Pcie] += most.lost_ms;
    findings.of_computing_ms += most.lost_ms;
    findings.verdicts.push_back(verdict_of(most));
  }
}

}  // namespace chokepoint::analysis
