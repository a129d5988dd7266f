#include "analysis/attribution/gpu_copies.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/attribution/hosts.h"
#include "analysis/load/run_data.h"
#include "base/host/pci.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMaxHops = 64;
constexpr double kMinFilledShare = 0.9;  // of the step: kernels, copies and network fill it
// Of the network's bytes, copied in either direction: then by Gloo.
constexpr double kMinGlooCopiedShare = 0.4;

double share(double now, double possible) { return now > 0 && possible > now ? now / possible : 1; }

// A PCIe link that a node's GPUs copy over: a GPU's own, or one above that several of the job's
// GPUs share. What it carries now, against what both of its ends could do.
struct GpuLink {
  std::string address = {};            // the GPU's, or that of the port that several share
  std::vector<std::string> gpus = {};  // of the job, that copy over it
  double ceiling_mbps = 0;             // 0: not known
  host::PciLink current = {};          // under load; of a GPU's own link alone
  host::PciLink possible = {};         // of GPU and slot
  bool is_by_driver = false;           // `current` is from NVML, else from sysfs

  bool is_shared() const { return gpus.size() > 1; }
  // Of what the link could carry; 1 if it is at its best, or unknown.
  double speed_share() const {
    return share(current.speed_gts.value_or(0), possible.speed_gts.value_or(0));
  }
  double width_share() const {
    return share(current.width.value_or(0), possible.width.value_or(0));
  }
};

std::optional<int> lanes(std::optional<double> width) {
  constexpr double kMaxLanes = 32;
  return width && *width >= 1 && *width <= kMaxLanes ? std::optional(static_cast<int>(*width))
                                                     : std::nullopt;
}

std::optional<double> speed_of(std::optional<double> generation) {
  constexpr double kMaxGeneration = 7;
  return generation && *generation >= 1 && *generation <= kMaxGeneration
             ? host::speed_of_generation(static_cast<int>(*generation))
             : std::nullopt;
}

template <class T>
std::optional<T> first(std::optional<T> one, std::optional<T> other) {
  return one ? one : other;
}

void read_own(const NodeData& node, GpuLink& link) {
  const std::string& gpu = link.address;
  const auto level = [&](std::string_view name) { return last_level(node, name, gpu); };
  link.current = {.speed_gts = speed_of(level(record::kGpuBusyGeneration)),
                  .width = lanes(level(record::kGpuBusyWidth))};
  link.is_by_driver = link.current.is_known();
  if (!link.is_by_driver) {
    link.current = {.speed_gts = level(record::kPcieBusySpeed),
                    .width = lanes(level(record::kPcieBusyWidth))};
  }
  link.possible = {.speed_gts = first(speed_of(level(record::kGpuMaxGeneration)),
                                      fact_number(node, "gpu", gpu, "max_speed_gts")),
                   .width = first(lanes(level(record::kGpuMaxWidth)),
                                  lanes(fact_number(node, "gpu", gpu, "max_width")))};
}

double ceiling_of(const NodeData& node, const std::string& gpu, Span span) {
  const SeriesData* ceiling = node.find(record::kPcieCeiling, gpu);
  // An idle GPU lets its link fall back to a lower speed.
  return ceiling == nullptr ? 0 : most_level(*ceiling, span).value_or(0);
}

// A port that was read while idle may show less than its GPUs then got through it.
double shared_ceiling(const NodeData& node, const std::string& port,
                      const std::vector<GpuLink>& own) {
  const auto speed = fact_number(node, "pci", port, "speed_gts");
  const auto width = lanes(fact_number(node, "pci", port, "width"));
  constexpr double kMaxPayload = 4096;
  const double payload = fact_number(node, "pci", port, "payload_bytes").value_or(0);
  const bool is_payload = payload >= 1 && payload <= kMaxPayload;
  double most = speed && width ? host::ceiling_mbps(*speed, *width,
                                                    is_payload ? static_cast<int>(payload)
                                                               : host::kUsualPayloadBytes)
                               : 0;
  for (const GpuLink& link : own) {
    most = std::max(most, link.ceiling_mbps);
  }
  return most;
}

// By the ports above each GPU; the two ends of one link have the same GPUs below them, and the one
// next to the GPUs stands for both.
void add_shared(const NodeData& node, std::vector<GpuLink>& links) {
  std::map<std::vector<std::string>, GpuLink> shared;
  std::map<std::string, std::vector<GpuLink>> below;
  std::vector<std::string> order;
  for (const GpuLink& link : links) {
    std::istringstream path(fact_text(node, "pci", link.address, "path"));
    std::size_t hops = 0;
    for (std::string port; ++hops < kMaxHops && path >> port && port != link.address;) {
      if (below[port].empty()) {
        order.push_back(port);
      }
      below[port].push_back(link);
    }
  }
  for (const std::string& port : order) {
    GpuLink link{.address = port};
    for (const GpuLink& own : below[port]) {
      link.gpus.push_back(own.address);
    }
    if (link.is_shared()) {
      link.ceiling_mbps = shared_ceiling(node, port, below[port]);
      std::vector<std::string> gpus = link.gpus;
      shared[std::move(gpus)] = std::move(link);
    }
  }
  for (auto& [gpus, link] : shared) {
    links.push_back(std::move(link));
  }
}

std::vector<GpuLink> gpu_links(const NodeData& node, Span span) {
  std::vector<GpuLink> links;
  for (const std::string& gpu : job_gpus(node, span)) {
    GpuLink link{.address = gpu, .gpus = {gpu}, .ceiling_mbps = ceiling_of(node, gpu, span)};
    read_own(node, link);
    if (link.ceiling_mbps <= 0 && link.current.is_known()) {
      link.ceiling_mbps = host::ceiling_mbps(*link.current.speed_gts, *link.current.width,
                                             host::kUsualPayloadBytes);
    }
    links.push_back(std::move(link));
  }
  add_shared(node, links);
  return links;
}

// GpuCopies over one link, in milliseconds a step.
struct GpuCopies {
  std::size_t place = 0;
  GpuLink link = {};
  double sent_ms = 0;      // from the GPUs to the host, at what the link can carry
  double received_ms = 0;  // to the GPUs
  double kernels_ms = 0;
  double by_library_ms = 0;  // Gloo's, both ways, that communication did not hide
  double other_ms = 0;       // the rest, as far as it was not beside kernels
  double own_late_ms = 0;    // by which the node came late
  double lost_ms = 0;        // to all of these
  double step_ms = 0;

  double busier_mbps() const {
    return link.ceiling_mbps * std::max(sent_ms, received_ms) / step_ms;
  }
};

Cause cause_of(const GpuCopies& copies) {
  const double width = copies.link.width_share();
  const double speed = copies.link.speed_share();
  if (width < 1 || speed < 1) {
    return width <= speed ? Cause::PcieWidth : Cause::PcieSpeed;
  }
  if (copies.link.is_shared()) {
    return Cause::SharedLink;
  }
  return copies.by_library_ms > copies.other_ms ? Cause::GlooCopies : Cause::Copies;
}

void add_link(const GpuCopies& copies, const std::string& from, Verdict& verdict) {
  const GpuLink& link = copies.link;
  const double of_best = link.width_share() * link.speed_share();
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
  if (of_best < 1) {
    verdict.evidence.push_back(
        {"the link at its best would save", copies.lost_ms * (1 - of_best), "ms a step", "both"});
  }
  if (link.is_shared()) {
    verdict.evidence.push_back({"GPUs of the job share the link at this port",
                                static_cast<double>(link.gpus.size()), "", "pci path of " + from});
  }
}

Verdict verdict_of(const DiagnosisInput& input, const GpuCopies& copies) {
  const NodeData& node = input.run.nodes[copies.place];
  Verdict verdict{.verdict = VerdictClass::PcieGpu,
                  .cause = cause_of(copies),
                  .where = {.interface = copies.link.address, .node = node.name},
                  .lost_ms_per_step = copies.lost_ms};
  const std::string from = copies.link.address + " of " + node.name;
  add_link(copies, from, verdict);
  verdict.evidence.push_back(
      {"copied between the GPU and its host, in the busier direction", copies.busier_mbps(), "Mb/s",
       "gpu.pcie_sent_bytes_per_s, gpu.pcie_received_bytes_per_s of " + from});
  verdict.evidence.push_back({"capacity of its PCIe link", copies.link.ceiling_mbps, "Mb/s",
                              "pcie.ceiling_mbps of " + from});
  verdict.evidence.push_back({"time without a running kernel",
                              100 * (1 - copies.kernels_ms / copies.step_ms), "%",
                              "gpu.kernels_percent of " + from});
  if (copies.by_library_ms > 0) {
    verdict.evidence.push_back({"copies to the host before an exchange by Gloo, and back after it",
                                std::min(copies.lost_ms, copies.by_library_ms), "ms a step",
                                "gpu.pcie_sent_bytes_per_s, flow totals of " + node.name});
  }
  return verdict;
}

// What the node's own connections carried, the busier way.
double network_bytes_per_s(const DiagnosisInput& input, std::size_t place) {
  std::array<double, 2> bytes{};
  for (const Connection& connection : input.run.connections) {
    for (std::size_t end = 0; end < connection.ends.size(); ++end) {
      const auto& own = connection.ends.at(end);
      if (own && own->node == place) {
        const FlowData& flow = input.run.flow(*own);
        bytes[0] += static_cast<double>(flow.totals.at(end).payload_bytes.value_or(0));
        bytes[1] += static_cast<double>(flow.totals.at(1 - end).payload_bytes.value_or(0));
      }
    }
  }
  const auto ns = static_cast<double>(input.run.nodes[place].span.length_ns());
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
void split_library(const DiagnosisInput& input, GpuCopies& copies) {
  const NodeData& node = input.run.nodes[copies.place];
  const double both_directions_ms = std::min(copies.sent_ms, copies.received_ms);
  const double bytes_per_s =
      both_directions_ms / copies.step_ms * copies.link.ceiling_mbps * 1e6 / 8;
  double beside_ms = std::max(copies.sent_ms, copies.received_ms);
  if (both_directions_ms > 0 && node.has_collectives_of(record::CollectiveSource::Gloo) &&
      bytes_per_s >= kMinGlooCopiedShare * network_bytes_per_s(input, copies.place)) {
    const double communication_ms = input.phases.exposed_ms + input.phases.hidden_ms;
    const double exposed = communication_ms > 0 ? input.phases.exposed_ms / communication_ms : 1;
    copies.by_library_ms = 2 * both_directions_ms * exposed;
    beside_ms -= both_directions_ms;
  }
  copies.other_ms = beside_ms;
}

// GpuCopies that were beside kernels left nothing to see but a step that neither explains.
void drop_what_kernels_hide(double network_ms, GpuCopies& copies) {
  const double explained_ms =
      copies.kernels_ms + copies.by_library_ms + copies.other_ms + network_ms;
  if (explained_ms < kMinFilledShare * copies.step_ms) {
    copies.other_ms = std::max(0.0, copies.other_ms - copies.kernels_ms);
  }
}

GpuCopies copies_of(const DiagnosisInput& input, std::size_t place, GpuLink link) {
  const NodeData& node = input.run.nodes[place];
  const Span span = input.span_of(place);
  const Phases& phases = input.phases;
  GpuCopies copies{.place = place, .link = std::move(link), .step_ms = phases.step_ms};
  if (copies.link.ceiling_mbps <= 0) {
    return copies;
  }
  const auto taken_ms = [&](std::string_view name) {
    const double mbps = sum_over(node, name, copies.link, span) * 8 / 1e6;
    return phases.step_ms * std::min(1.0, mbps / copies.link.ceiling_mbps);
  };
  copies.sent_ms = taken_ms(record::kGpuPcieSent);
  copies.received_ms = taken_ms(record::kGpuPcieReceived);
  double kernels_percent = 0;
  for (const std::string& gpu : copies.link.gpus) {
    kernels_percent +=
        kernels_percent_of(node, gpu, span) / static_cast<double>(copies.link.gpus.size());
  }
  copies.kernels_ms = phases.step_ms * std::clamp(kernels_percent / 100, 0., 1.);
  copies.own_late_ms = phases.late_ms[place];
  // The node itself did not wait for itself.
  const double network_ms = phases.exposed_ms + phases.waiting_ms() - copies.own_late_ms;
  split_library(input, copies);
  drop_what_kernels_hide(network_ms, copies);
  copies.lost_ms = std::clamp(std::min({copies.by_library_ms + copies.other_ms,
                                        phases.step_ms - copies.kernels_ms - network_ms,
                                        phases.computing_ms + copies.own_late_ms}),
                              0.0, phases.step_ms);
  return copies;
}

GpuCopies most_of(const DiagnosisInput& input, std::size_t place) {
  GpuCopies most{.place = place};
  for (GpuLink& link : gpu_links(input.run.nodes[place], input.span_of(place))) {
    GpuCopies copies = copies_of(input, place, std::move(link));
    most = copies.lost_ms > most.lost_ms ? std::move(copies) : most;
  }
  return most;
}

// A rank that copies for longer than the others comes later by that.
double take_from_straggler(const GpuCopies& most, double next_ms, const NodeData& node,
                           Findings& findings) {
  const auto late = std::ranges::find_if(findings.verdicts, [&](const Verdict& verdict) {
    return verdict.verdict == VerdictClass::Straggler && verdict.cause == Cause::LateRank &&
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

struct NvlinkUse {
  double gb_per_s = 0;
  std::optional<double> links = {};  // that are up
  std::string gpu = {};
  std::string node = {};
};

// The busier way. By GPM (Hopper and later), else by the driver's own counters.
double nvlink_gb_per_s(const NodeData& node, const std::string& gpu, Span span) {
  const auto rate = [&](std::string_view by_gpm, std::string_view counted) {
    const double by_driver = grown(node, counted, gpu, span) * 1e9 /
                             static_cast<double>(std::max<std::int64_t>(span.length_ns(), 1));
    return mean_over(node, by_gpm, gpu, span).value_or(by_driver);
  };
  return std::max(rate(record::kGpuNvlinkSent, record::kGpuNvlinkSentBytes),
                  rate(record::kGpuNvlinkReceived, record::kGpuNvlinkReceivedBytes)) /
         1e9;
}

}  // namespace

void add_gpu_copies(const DiagnosisInput& input, Findings& findings) {
  GpuCopies most;
  double next_ms = 0;  // of the node with the next most
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    GpuCopies copies = most_of(input, place);
    next_ms = std::max(next_ms, std::min(copies.lost_ms, most.lost_ms));
    most = copies.lost_ms > most.lost_ms ? std::move(copies) : most;
  }
  if (most.lost_ms <= 0) {
    return;
  }
  const double of_late_ms =
      take_from_straggler(most, next_ms, input.run.nodes[most.place], findings);
  const double of_computing_ms =
      std::clamp(most.lost_ms - of_late_ms, 0.0,
                 std::max(0.0, input.phases.computing_ms - findings.of_computing_ms));
  most.lost_ms = of_late_ms + of_computing_ms;
  findings.accounting[Account::Pcie] += most.lost_ms;
  findings.of_computing_ms += of_computing_ms;
  findings.verdicts.push_back(verdict_of(input, most));
}

void remark_nvlink(const DiagnosisInput& input, Verdict& computing) {
  constexpr double kMinNvlinkGbPerS = 0.1;
  NvlinkUse busiest{.gb_per_s = kMinNvlinkGbPerS};
  double failures = 0;
  std::string failing;
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    const NodeData& node = input.run.nodes[place];
    const Span span = input.span_of(place);
    for (const std::string& gpu : job_gpus(node, span)) {
      const double gb_per_s = nvlink_gb_per_s(node, gpu, span);
      if (gb_per_s > busiest.gb_per_s) {
        busiest = {.gb_per_s = gb_per_s,
                   .links = last_level(node, record::kGpuNvlinkActive, gpu),
                   .gpu = gpu,
                   .node = node.name};
      }
      for (const std::string_view name :
           {record::kGpuNvlinkCrcErrors, record::kGpuNvlinkReplays, record::kGpuNvlinkRecoveries}) {
        const double grew = grown(node, name, gpu, span);
        failures += grew;
        failing = grew > 0 ? gpu + " of " + node.name : failing;
      }
    }
  }
  if (!busiest.gpu.empty()) {
    computing.evidence.push_back(
        {"went by NVLink, in each direction at most, on GPU " + busiest.gpu, busiest.gb_per_s,
         "GB/s", "gpu.nvlink_* of " + busiest.node});
  }
  if (busiest.links) {
    computing.evidence.push_back(
        {"NVLinks of it that are up", busiest.links, "", "gpu.nvlink_active of " + busiest.node});
  }
  if (failures > 0) {
    computing.evidence.push_back(
        {"NVLink packets repeated and links trained again, such as of GPU " + failing, failures, "",
         "gpu.nvlink_crc_errors, gpu.nvlink_replays, gpu.nvlink_recoveries"});
  }
}

}  // namespace chokepoint::analysis
