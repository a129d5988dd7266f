#include "analysis/attribution/gpu_copies.h"

#include <algorithm>

#include "analysis/attribution/counters.h"
#include "analysis/attribution/gpu_copies_verdict.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr double kInTurns = 0.9;    // of the step: kernels, copies and network fill it
constexpr double kOfNetwork = 0.4;  // of the network's bytes, copied either way: then by Gloo

using Copies = GpuCopies;

bool has_gloo(const NodeData& node) {
  return std::ranges::any_of(node.collectives, [](const record::Collective& collective) {
    return collective.source == record::CollectiveSource::Gloo;
  });
}

// What the node's own connections carried, the busier way.
double network_bytes_per_s(const DiagnosisInput& input, std::size_t place) {
  std::array<double, 2> bytes{};
  for (const Connection& connection : input.run.connections) {
    for (std::size_t end = 0; end < connection.ends.size(); ++end) {
      const auto& own = connection.ends.at(end);
      if (own && own->node == place) {
        const FlowData& flow = input.run.nodes[place].flows[own->flow];
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
void split_library(const DiagnosisInput& input, Copies& copies) {
  const NodeData& node = input.run.nodes[copies.place];
  const double both_ways_ms = std::min(copies.sent_ms, copies.received_ms);
  const double bytes_per_s = both_ways_ms / copies.step_ms * copies.link.ceiling_mbps * 1e6 / 8;
  double beside_ms = std::max(copies.sent_ms, copies.received_ms);
  if (both_ways_ms > 0 && has_gloo(node) &&
      bytes_per_s >= kOfNetwork * network_bytes_per_s(input, copies.place)) {
    const double communication_ms = input.phases.exposed_ms + input.phases.hidden_ms;
    const double exposed = communication_ms > 0 ? input.phases.exposed_ms / communication_ms : 1;
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

Copies copies_of(const DiagnosisInput& input, std::size_t place, GpuLink link) {
  const NodeData& node = input.run.nodes[place];
  const Span span = input.span_of(place);
  const Phases& phases = input.phases;
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
  split_library(input, copies);
  drop_what_kernels_hide(network_ms, copies);
  copies.lost_ms = std::clamp(std::min({copies.by_library_ms + copies.other_ms,
                                        phases.step_ms - copies.kernels_ms - network_ms,
                                        phases.computing_ms + copies.own_late_ms}),
                              0.0, phases.step_ms);
  return copies;
}

Copies most_of(const DiagnosisInput& input, std::size_t place) {
  Copies most{.place = place};
  for (GpuLink& link : gpu_links(input.run.nodes[place], input.span_of(place))) {
    Copies copies = copies_of(input, place, std::move(link));
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

void add_gpu_copies(const DiagnosisInput& input, Findings& findings) {
  Copies most;
  double next_ms = 0;  // of the node with the next most
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    Copies copies = most_of(input, place);
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

}  // namespace chokepoint::analysis
