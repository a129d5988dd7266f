#include "analysis/attribution/nccl_waits.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

// All steps' together, in ns; the sums of rows that may hold anything.
struct Waits {
  double gpu = 0;
  double network = 0;
  double peer = 0;
  double flush = 0;

  double sum() const { return gpu + network + peer + flush; }
  void add(const record::Collective& row) {
    gpu += static_cast<double>(row.gpu_wait_ns.value_or(0));
    network += static_cast<double>(row.network_wait_ns.value_or(0));
    peer += static_cast<double>(row.peer_wait_ns.value_or(0));
    flush += static_cast<double>(row.flush_wait_ns.value_or(0));
  }
};

Waits nccl_waits_of(const DiagnosisInput& input, std::size_t place) {
  Waits waits;
  const Span span = input.span_of(place);
  for (const record::Collective& row : input.run.nodes[place].collectives) {
    if (row.end_ns > span.start_ns && row.start_ns < span.end_ns) {
      waits.add(row);
    }
  }
  return waits;
}

Evidence share(const char* what, double part, const Waits& waits, const char* columns,
               const NodeData& node) {
  return {what, 100 * part / waits.sum(), "%",
          std::string(columns) + " of the collectives of " + node.name};
}

Evidence of_gpu(const Waits& waits, const NodeData& node) {
  return share("of what NCCL's network steps waited, for the own GPU or the flush over PCIe",
               waits.gpu + waits.flush, waits, "gpu_wait_ns, flush_wait_ns", node);
}

Evidence of_peer(const Waits& waits, const NodeData& node) {
  return share("of what NCCL's network steps waited, for the receiver's credit", waits.peer, waits,
               "peer_wait_ns", node);
}

Evidence of_network(const Waits& waits, const NodeData& node) {
  return share("of what NCCL's network steps waited, for the network", waits.network, waits,
               "network_wait_ns", node);
}

bool is_of_network(VerdictClass verdict) {
  using enum VerdictClass;
  return verdict == LanBandwidth || verdict == LanLoss || verdict == LanLatency ||
         verdict == WanBandwidth || verdict == WanLoss || verdict == WanLatency;
}

void add_to(Verdict& verdict, const Waits& waits, const NodeData& node) {
  if (verdict.verdict == VerdictClass::PcieGpu && verdict.where.node == node.name) {
    verdict.evidence.push_back(of_gpu(waits, node));
  } else if (verdict.where.from == node.name && verdict.verdict == VerdictClass::ReceiverHost) {
    verdict.evidence.push_back(of_peer(waits, node));
  } else if (verdict.where.from == node.name && is_of_network(verdict.verdict)) {
    verdict.evidence.push_back(of_network(waits, node));
  }
}

}  // namespace

void add_nccl_waits(const DiagnosisInput& input, Findings& findings) {
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    const NodeData& node = input.run.nodes[place];
    const Waits waits = nccl_waits_of(input, place);
    if (waits.sum() <= 0) {
      continue;
    }
    for (Verdict& verdict : findings.verdicts) {
      add_to(verdict, waits, node);
    }
    findings.hints.push_back(of_gpu(waits, node));
    findings.hints.push_back(of_peer(waits, node));
    findings.hints.push_back(of_network(waits, node));
  }
}

}  // namespace chokepoint::analysis
