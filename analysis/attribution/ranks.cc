// Findings about ranks: who came late, who got no processor time to send, and who went away.
#include <algorithm>
#include <map>

#include "analysis/attribution/findings.h"
#include "analysis/attribution/gpu_clocks.h"
#include "analysis/attribution/hosts.h"

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kBySignal = 128;  // a shell adds the signal's number to it

Where place_of(const NodeData& node) { return {.node = node.name, .rank = node.rank()}; }

// Of a node's ranks the one that was late most.
std::optional<std::int64_t> late_rank(const DiagnosisInput& input, std::size_t place) {
  std::map<std::int64_t, double> lost_ns;
  for (const Late& late : input.phases.late) {
    if (late.node == place && late.rank >= 0) {
      lost_ns[late.rank] += late.lost_ns;
    }
  }
  const auto most = std::ranges::max_element(lost_ns, {}, [](const auto& of) { return of.second; });
  return most == lost_ns.end() ? input.run.nodes[place].rank() : most->first;
}

// A rank ended by a signal goes before any other; else the one that ended first.
bool went_before(const NodeData& one, const NodeData& other) {
  const bool is_one_killed = one.exit_status.value_or(0) > kBySignal;
  const bool is_other_killed = other.exit_status.value_or(0) > kBySignal;
  return is_one_killed != is_other_killed ? is_one_killed : one.span.end_ns < other.span.end_ns;
}

// Ranks that come late by turns, as on any host, delay each other equally: only the excess counts.
double more_than_others_ms(const DiagnosisInput& input, std::size_t place) {
  const double own = input.phases.late_ms[place];
  const auto others = static_cast<double>(input.phases.late_ms.size() - 1);
  return others < 1 ? own : own - (input.phases.waiting_ms() - own) / others;
}

std::size_t latest_of(const DiagnosisInput& input) {
  return static_cast<std::size_t>(std::ranges::max_element(input.phases.late_ms) -
                                  input.phases.late_ms.begin());
}

Verdict* sending_host(const NodeData& node, Findings& findings) {
  const auto found = std::ranges::find_if(findings.verdicts, [&](const Verdict& verdict) {
    return verdict.verdict == VerdictClass::SenderHost && verdict.where.from == node.name;
  });
  return found == findings.verdicts.end() ? nullptr : &*found;
}

}  // namespace

void add_late(const DiagnosisInput& input, Findings& findings) {
  if (input.phases.waiting_ms() <= 0) {
    return;
  }
  const std::size_t place = latest_of(input);
  const NodeData& node = input.run.nodes[place];
  const HostLoad load = load_of(node, input.span_of(place));
  const double lost_ms = more_than_others_ms(input, place);
  if (Verdict* host = load.is_starved ? sending_host(node, findings) : nullptr) {
    host->lost_ms_per_step += input.phases.waiting_ms();
    findings.accounting[Account::SenderHost] += input.phases.waiting_ms();
    return;
  }
  findings.accounting[Account::Straggler] += input.phases.waiting_ms();
  Verdict verdict{.verdict = VerdictClass::Straggler,
                  .cause = load.is_starved ? Cause::ProcessCpu : Cause::LateRank,
                  .where = {.node = node.name, .rank = late_rank(input, place)},
                  .lost_ms_per_step = lost_ms};
  verdict.evidence.push_back({"arrived last at exchanges, later than the rank before it by",
                              input.phases.late_ms[place], "ms a step",
                              input.phases.source == PhaseSource::Library
                                  ? "collectives of all nodes"
                                  : "first bytes of all nodes after each pause"});
  if (load.is_starved) {
    verdict.evidence.push_back(starvation_of(load, node));
  } else {
    explain_by_clocks(input, place, verdict);
  }
  findings.verdicts.push_back(std::move(verdict));
}

std::optional<Verdict> gone_rank(const RunData& run) {
  const NodeData* gone = nullptr;
  for (const NodeData& node : run.nodes) {
    if (node.exit_status.value_or(0) != 0 && (gone == nullptr || went_before(node, *gone))) {
      gone = &node;
    }
  }
  if (gone == nullptr) {
    return std::nullopt;
  }
  Verdict verdict{.cause = Cause::RankGone, .where = place_of(*gone), .confidence = 0.8};
  verdict.evidence.push_back(
      {"exit status on " + gone->name, static_cast<double>(*gone->exit_status), "", "session"});
  return verdict;
}

void add_starvation(const DiagnosisInput& input, Findings& findings) {
  for (Verdict& verdict : findings.verdicts) {
    if (verdict.verdict != VerdictClass::SenderHost || verdict.cause != Cause::ProcessCpu) {
      continue;
    }
    const auto node = std::ranges::find(input.run.nodes, verdict.where.from, &NodeData::name);
    if (node == input.run.nodes.end()) {
      continue;
    }
    const auto place = static_cast<std::size_t>(node - input.run.nodes.begin());
    const HostLoad load = load_of(*node, input.span_of(place));
    const double waited_ms = load.is_starved ? load.waited_percent / 100 * input.phases.step_ms : 0;
    const double computing_ms = input.phases.computing_ms - findings.of_computing_ms;
    const double more_ms =
        std::clamp(waited_ms - verdict.lost_ms_per_step, 0.0, std::max(0.0, computing_ms));
    verdict.lost_ms_per_step += more_ms;
    findings.accounting[Account::SenderHost] += more_ms;
    findings.of_computing_ms += more_ms;
  }
}

}  // namespace chokepoint::analysis
