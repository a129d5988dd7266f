#include "analysis/attribution/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

// A transfer that a rank waits for takes no longer than what it is late by, with what one bin adds;
// one that goes on beside its work takes longer, and goes on beside its exchanges.
constexpr double kLeastOfLateness = 0.5;
constexpr double kMostOfLateness = 2;
constexpr double kMostBesideExchange = 0.2;
// Without a packet for longer, a transfer is over, or its server has not answered yet.
constexpr std::int64_t kLongestGapNs = 50'000'000;
constexpr std::int64_t kLongestAnswerNs = 60'000'000'000;

struct TransferBin {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double bytes = 0;
  bool is_received = false;
};

// With one peer.
struct PeerTransfers {
  Spans spans = {};  // on the common clock
  double bytes = 0;
  Spans answers = {};  // between a request and its answer
  traffic::Purpose purpose = traffic::Purpose::Unknown;
};

std::vector<TransferBin> bins_of(const DiagnosisInput& input, std::size_t node,
                                 const FlowData& flow) {
  const auto sending = static_cast<std::size_t>(flow.row.local_end.value_or(0) == 1 ? 1 : 0);
  std::vector<TransferBin> bins;
  for (const std::size_t side : {0U, 1U}) {
    for (const record::FlowSample& sample : flow.packets.at(side)) {
      if (sample.payload_bytes.value_or(0) > 0) {
        bins.push_back({.start_ns = input.clocks.common_ns(node, sample.t_ns - sample.bin_ns),
                        .end_ns = input.clocks.common_ns(node, sample.t_ns),
                        .bytes = static_cast<double>(sample.payload_bytes.value()),
                        .is_received = side != sending});
      }
    }
  }
  std::ranges::stable_sort(bins, {}, &TransferBin::start_ns);
  return bins;
}

void add_bins(const std::vector<TransferBin>& bins, PeerTransfers& transfers) {
  for (std::size_t at = 0; at < bins.size(); ++at) {
    transfers.spans.push_back({bins[at].start_ns, bins[at].end_ns});
    transfers.bytes += bins[at].bytes;
    const std::int64_t gap_ns = at == 0 ? 0 : bins[at].start_ns - bins[at - 1].end_ns;
    const bool is_answer =
        at > 0 && bins[at].is_received && !bins[at - 1].is_received && gap_ns < kLongestAnswerNs;
    if (gap_ns > 0 && (gap_ns <= kLongestGapNs || is_answer)) {
      const Span gap{bins[at - 1].end_ns, bins[at].start_ns};
      transfers.spans.push_back(gap);
      if (is_answer) {
        transfers.answers.push_back(gap);
      }
    }
  }
}

// Of a process without a rank, or of this one.
bool may_be_of(const NodeData& node, const FlowData& flow, std::int64_t rank) {
  const auto process =
      std::ranges::find(node.processes, flow.row.process.value_or(-1), &record::Process::id);
  return process == node.processes.end() || rank < 0 || process->rank.value_or(rank) == rank;
}

// By the address of the peer.
std::map<std::string, PeerTransfers> transfers_of(const DiagnosisInput& input,
                                                  const RankLateness& rank) {
  const NodeData& node = input.run.nodes[rank.node];
  std::map<std::string, PeerTransfers> all;
  for (const FlowData& flow : node.flows) {
    const traffic::Purpose purpose = input.run.ranks.purpose_of(flow.row);
    if (!is_of_job(flow.row) || !flow.row.local_end.known() ||
        !traffic::is_beside_exchange(purpose) || !may_be_of(node, flow, rank.rank)) {
      continue;
    }
    const bool is_a = flow.row.local_end.value() == 0;
    PeerTransfers& transfers = all[is_a ? flow.row.b_address : flow.row.a_address];
    transfers.purpose = purpose;
    add_bins(bins_of(input, rank.node, flow), transfers);
  }
  for (auto& [peer, transfers] : all) {
    transfers.spans = united(std::move(transfers.spans));
  }
  return all;
}

}  // namespace

bool explain_by_transfers(const DiagnosisInput& input, const RankLateness& rank, Verdict& verdict) {
  const auto steps = static_cast<double>(input.steps.settled.size());
  const std::map<std::string, PeerTransfers> all = transfers_of(input, rank);
  const auto length = [](const auto& each) { return length_ns(each.second.spans); };
  const auto most = std::ranges::max_element(all, {}, length);
  if (steps == 0 || most == all.end()) {
    return false;
  }
  const Spans inside = common_to(most->second.spans, united(input.steps.settled));
  const auto ms_of = [&](const Spans& part) {
    return static_cast<double>(length_ns(common_to(inside, part))) / math::kNsPerMs / steps;
  };
  const double ms = ms_of(inside);
  const double beside_ms = ms_of(input.phases.communicating);
  if (ms < kLeastOfLateness * rank.late_ms || ms > kMostOfLateness * rank.late_ms ||
      beside_ms > kMostBesideExchange * ms) {
    return false;
  }
  verdict.cause = Cause::Transfer;
  verdict.evidence.push_back({fmt::format("meanwhile it moves {} to or from {}",
                                          traffic::sentence_of(most->second.purpose), most->first),
                              ms, "ms a step", "flow samples of " + verdict.where.node});
  const std::string from = "flow samples of " + verdict.where.node;
  verdict.evidence.push_back(
      {"bytes moved so in the whole run", most->second.bytes, "bytes", from});
  if (const double answer_ms = ms_of(united(most->second.answers)); answer_ms > 0) {
    verdict.evidence.push_back(
        {"of that, the other host takes until it answers", answer_ms, "ms a step", from});
  }
  return true;
}

}  // namespace chokepoint::analysis
