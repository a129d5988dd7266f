#include "analysis/attribution/gains.h"

#include <algorithm>

#include "analysis/attribution/route.h"

namespace chokepoint::analysis {
namespace {

constexpr double kWideLinkMbps = 1e6;  // instead of a link that its line fills

// The direction that the verdict is about.
const DirectionLimits* main_direction(const DiagnosisInput& input, const Where& where) {
  const DirectionLimits* most = nullptr;
  for (const DirectionLimits& direction : input.limit_timeline.directions) {
    const Route route = route_of(input, direction);
    if (route.from == where.from && route.to == where.to &&
        (most == nullptr || direction.held.sum() > most->held.sum())) {
      most = &direction;
    }
  }
  return most;
}

// A full link gets the rate of its cards, and one that they fill a wide one. Of others' traffic the
// account is surer: what they take varies.
std::optional<ReplayChange> run_without(const Verdict& verdict, const Route& route,
                                        const MeasuredPath& path) {
  const bool is_link = verdict.verdict == VerdictClass::LanBandwidth ||
                       verdict.verdict == VerdictClass::WanBandwidth;
  const bool is_own = verdict.cause == Cause::LineRate || verdict.cause == Cause::Shaper;
  if (!is_link || !is_own || !path.is_full) return std::nullopt;
  const auto line_mbps = route.line_mbps();
  const bool is_line_full = line_mbps && route.rate_mbps > kMinFullShare * *line_mbps;
  return ReplayChange{
      .path = {.rate_mbps = line_mbps && !is_line_full ? *line_mbps : kWideLinkMbps}};
}

}  // namespace

void measure_gains(const DiagnosisInput& input, const std::optional<Replay>& replay,
                   Findings& findings) {
  // What a stage of a pipeline computes without a message is not seen, so its accounts are surer.
  if (!replay || input.phases.by_messages) return;
  for (Verdict& verdict : findings.verdicts) {
    const DirectionLimits* direction = main_direction(input, verdict.where);
    if (direction == nullptr) continue;
    const auto change = run_without(verdict, route_of(input, *direction), replay->path());
    const auto step_ms = change ? replay->step_ms(*change) : std::nullopt;
    if (step_ms && *step_ms < replay->step_ms()) {
      verdict.lost_ms_per_step = replay->step_ms() - *step_ms;
    }
  }
}

}  // namespace chokepoint::analysis
