#include "analysis/attribution/gpu_copies.h"

#include <algorithm>

#include "analysis/attribution/counters.h"
#include "analysis/attribution/gpu_links.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr double kInTurns = 0.9;    // of the step: kernels, copies and network fill it
constexpr double kOfNetwork = 0.4;  // of the network's bytes, copied either way: then by Gloo

// Of one link, in milliseconds a step.
struct Copies {
  std::size_t place = 0;
  GpuLink link = {};
  double sent_ms = 0;      // from the GPUs to the host, at what the link can carry
  double received_ms = 0;  // to the GPUs
  double kernels_ms = 0;
  double by_library_ms = 0;  // Gloo's, both ways, that communication did not hide
  double other_ms = 0;       // the rest, as far as it was not beside kernels
  double own_late_ms = 0;    // of the node's lateness
  double lost_ms = 0;        // of all this
  double busier_mbps() const {
    return link.ceiling_mbps * std::max(sent_ms, received_ms) / step_ms;
  }
  double step_ms = 0;
};

bool has_gloo(const NodeData& node) {
  return std::ranges::any_of(node.collectives, [](const record::Collective& collective) {
    return collective.source == record::CollectiveSource::Gloo;
  });
}

// What the node's own connections carried, the busier way.
double network_bytes_per_s(const Scene& scene, std::size_t place) {
  std::array<double, 2> bytes{};
  for (const Connection& connection : scene.run.connections) {
    for (std::size_t end = 0; end < connection.ends.size(); ++end) {
      const auto& own = connection.ends.at(end);
      if (own && own->node == place) {
        const FlowData& flow = scene.run.nodes[place].flows[own->flow];
        bytes[0] += static_cast<double>(flow.totals.at(end).payload_bytes.value_or(0));
        bytes[1] += static_cast<double>(flow.totals.at(1 - end).payload_bytes.value_or(0));
      }
    }
  }
  const auto ns = static_cast<double>(scene.run.nodes[place].span.length_ns());
  return ns > 0 ? std::max(bytes[0], bytes[1]) * 1e9 / ns : 0;
}

double sum_over(const NodeData& node, std::string_view name, const GpuLink& link, Span span) {
  double sum = 0;
  for (const std::string& gpu : link.gpus) {
    sum += mean_over(node, name, gpu, span).value_or(0);
  }
  return sum;
}

// PyTorch's Gloo copies a tensor to the host, exchanges it, and copies it back: each after the
// other, so both ways count, and computing hides as much of them as of the exchange.
void split_library(const Scene& scene, Copies& copies) {
  const NodeData& node = scene.run.nodes[copies.place];
  const double both_ways_ms = std::min(copies.sent_ms, copies.received_ms);
  const double bytes_per_s = both_ways_ms / copies.step_ms * copies.link.ceiling_mbps * 1e6 / 8;
  double beside_ms = std::max(copies.sent_ms, copies.received_ms);
  if (both_ways_ms > 0 && has_gloo(node) &&
      bytes_per_s >= kOfNetwork * network_bytes_per_s(scene, copies.place)) {
    const double communication_ms = scene.phases.exposed_ms + scene.phases.hidden_ms;
    const double exposed = communication_ms > 0 ? scene.phases.exposed_ms / communication_ms : 1;
    copies.by_library_ms = 2 * both_ways_ms * exposed;
    beside_ms -= both_ways_ms;
  }
  copies.other_ms = beside_ms;
}

// Copies that were beside kernels left nothing to see but a step that neither explains.
void drop_what_kernels_hide(double network_ms, Copies& copies) {
  const double explained_ms =
      copies.kernels_ms + copies.by_library_ms + copies.other_ms + network_ms;
  if (explained_ms < kInTurns * copies.step_ms) {
    copies.other_ms = std::max(0.0, copies.other_ms - copies.kernels_ms);
  }
}

Copies copies_of(const Scene& scene, std::size_t place, GpuLink link) {
  const NodeData& node = scene.run.nodes[place];
  const Span span = scene.span_of(place);
  const Phases& phases = scene.phases;
  Copies copies{.place = place, .link = std::move(link), .step_ms = phases.step_ms};
  if (copies.link.ceiling_mbps <= 0) {
    return copies;
  }
  const auto taken_ms = [&](std::string_view name) {
    const double mbps = sum_over(node, name, copies.link, span) * 8 / 1e6;
    return phases.step_ms * std::min(1.0, mbps / copies.link.ceiling_mbps);
  };
  copies.sent_ms = taken_ms(record::kGpuPcieSent);
  copies.received_ms = taken_ms(record::kGpuPcieReceived);
  const double busy_percent = sum_over(node, record::kGpuUtilization, copies.link, span) /
                              static_cast<double>(copies.link.gpus.size());
  copies.kernels_ms = phases.step_ms * std::clamp(busy_percent / 100, 0., 1.);
  copies.own_late_ms = phases.late_ms[place];
  // The node itself did not wait for itself.
  const double network_ms = phases.exposed_ms + phases.waiting_ms() - copies.own_late_ms;
  split_library(scene, copies);
  drop_what_kernels_hide(network_ms, copies);
  copies.lost_ms = std::clamp(std::min({copies.by_library_ms + copies.other_ms,
                                        phases.step_ms - copies.kernels_ms - network_ms,
                                        phases.computing_ms + copies.own_late_ms}),
                              0.0, phases.step_ms);
  return copies;
}

const char* cause_of(const Copies& copies) {
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

void add_link(const Copies& copies, const std::string& from, Verdict& verdict) {
  const GpuLink& link = copies.link;
  const double share = link.width_share() * link.speed_share();
  const bool is_driver = link.is_by_driver;
  if (link.width_share() < 1) {
    verdict.evidence.push_back(
        {"its PCIe link under load has", *link.current.width, "lanes",
         (is_driver ? "gpu.busy_pcie_width of " : "pcie.busy_width of ") + from});
    verdict.evidence.push_back(
        {"GPU and slot can do", *link.possible.width, "lanes", "gpu.max_pcie_width of " + from});
  }
  if (link.speed_share() < 1) {
    verdict.evidence.push_back(
        {"its PCIe link under load runs at", *link.current.speed_gts, "GT/s",
         (is_driver ? "gpu.busy_pcie_generation of " : "pcie.busy_speed_gts of ") + from});
    verdict.evidence.push_back({"GPU and slot can do", *link.possible.speed_gts, "GT/s",
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

Verdict verdict_of(const Scene& scene, const Copies& copies) {
  const NodeData& node = scene.run.nodes[copies.place];
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

Copies most_of(const Scene& scene, std::size_t place) {
  Copies most{.place = place};
  for (GpuLink& link : gpu_links(scene.run.nodes[place], scene.span_of(place))) {
    Copies copies = copies_of(scene, place, std::move(link));
    most = copies.lost_ms > most.lost_ms ? std::move(copies) : most;
  }
  return most;
}

// A rank that copies for longer than the others comes later by that.
double take_from_straggler(const Copies& most, double next_ms, const NodeData& node,
                           Findings& findings) {
  const auto late = std::ranges::find_if(findings.verdicts, [&](const Verdict& verdict) {
    return verdict.verdict == VerdictClass::Straggler && verdict.cause == "late-rank" &&
           verdict.where.node == node.name;
  });
  if (late == findings.verdicts.end()) {
    return 0;
  }
  const double taken_ms = std::min({std::max(0.0, most.lost_ms - next_ms), most.own_late_ms,
                                    findings.accounting[Account::Straggler]});
  late->lost_ms_per_step = std::max(0.0, late->lost_ms_per_step - taken_ms);
  findings.accounting[Account::Straggler] -= taken_ms;
  return taken_ms;
}

}  // namespace

void add_gpu_copies(const Scene& scene, Findings& findings) {
  Copies most;
  double next_ms = 0;  // of the node with the next most
  for (std::size_t place = 0; place < scene.run.nodes.size(); ++place) {
    Copies copies = most_of(scene, place);
    next_ms = std::max(next_ms, std::min(copies.lost_ms, most.lost_ms));
    most = copies.lost_ms > most.lost_ms ? std::move(copies) : most;
  }
  if (most.lost_ms <= 0) {
    return;
  }
  const double of_late_ms =
      take_from_straggler(most, next_ms, scene.run.nodes[most.place], findings);
  const double of_computing_ms =
      std::clamp(most.lost_ms - of_late_ms, 0.0,
                 std::max(0.0, scene.phases.computing_ms - findings.of_computing_ms));
  most.lost_ms = of_late_ms + of_computing_ms;
  findings.accounting[Account::Pcie] += most.lost_ms;
  findings.of_computing_ms += of_computing_ms;
  findings.verdicts.push_back(verdict_of(scene, most));
}

}  // namespace chokepoint::analysis
