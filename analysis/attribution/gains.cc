#include "analysis/attribution/gains.h"

#include <algorithm>

#include "analysis/attribution/route.h"

namespace chokepoint::analysis {
namespace {

constexpr double kWideLinkMbps = 1e6;  // instead of a link that its line fills

// A full link gets the rate of its cards, and one that they fill a wide one. Of others' traffic the
// account is surer: what they take varies.
std::optional<ReplayChange> without_full_link(const Verdict& verdict, const Route& route,
                                              const MeasuredPath& path) {
  const bool is_own = verdict.cause == Cause::LineRate || verdict.cause == Cause::Shaper;
  if (!is_own || !path.is_full) return std::nullopt;
  const auto line_mbps = route.line_mbps();
  const bool is_line_full = line_mbps && route.rate_mbps > kMinFullShare * *line_mbps;
  return ReplayChange{
      .path = {.rate_mbps = line_mbps && !is_line_full ? *line_mbps : kWideLinkMbps}};
}

std::optional<ReplayChange> run_without(const DiagnosisInput& input, const Verdict& verdict,
                                        const MeasuredPath& path) {
  using enum VerdictClass;
  const DirectionLimits* direction = main_direction_of(input, verdict.where);
  const bool is_link = verdict.verdict == LanBandwidth || verdict.verdict == WanBandwidth;
  return direction != nullptr && is_link
             ? without_full_link(verdict, route_of(input, *direction), path)
             : std::nullopt;
}

// What a stage of a pipeline computes without a message is not seen, nor what NCCL's own work
// takes: their accounts are surer.
bool is_measured(const DiagnosisInput& input) {
  return !input.phases.by_messages &&
         std::ranges::none_of(input.run.nodes, [](const NodeData& node) {
           return node.has_collectives_of(record::CollectiveSource::Nccl);
         });
}

}  // namespace

void measure_gains(const DiagnosisInput& input, const std::optional<Replay>& replay,
                   Findings& findings) {
  if (!replay || !is_measured(input)) return;
  // No more than was seen to wait for it, or what its queue lost.
  const double most_ms = findings.accounting[Account::Link] + findings.accounting[Account::Loss];
  for (Verdict& verdict : findings.verdicts) {
    const auto change = run_without(input, verdict, replay->path());
    const auto step_ms = change ? replay->step_ms(*change) : std::nullopt;
    if (step_ms && *step_ms < replay->step_ms()) {
      verdict.lost_ms_per_step = std::min(most_ms, replay->step_ms() - *step_ms);
    }
  }
}

}  // namespace chokepoint::analysis
