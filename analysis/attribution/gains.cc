#include "analysis/attribution/gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "analysis/attribution/route.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMaxOfStep = 0.99;    // a change that leaves more of the step gains nothing
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

std::optional<ReplayChange> change_of(const Advice& advice) {
  if (advice.option == "--link") {
    const auto rate = math::parse_rate(advice.value);
    return rate ? std::optional(ReplayChange{.path = {.rate_mbps = rate->bits_per_second / 1e6}})
                : std::nullopt;
  }
  if (advice.option == "--bucket") {
    const auto size = math::parse_bytes(advice.value);
    return size ? std::optional(ReplayChange{.bucket_bytes = static_cast<double>(size->count)})
                : std::nullopt;
  }
  if (advice.option == "--rtt") {
    const auto time = math::parse_short_duration(advice.value);
    return time ? std::optional(
                      ReplayChange{.path = {.rtt_ms = static_cast<double>(time->count()) / 1e6}})
                : std::nullopt;
  }
  if (advice.option == "--loss") {
    const auto loss = math::parse_share(advice.value);
    return loss ? std::optional(ReplayChange{.path = {.loss = *loss}}) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> predicted_ms(const Replay& replay, const Advice& advice) {
  const auto change = change_of(advice);
  return change ? replay.step_ms(*change) : std::nullopt;
}

// The size of buckets that gains most: larger ones save round trips, but the last of them is hidden
// by nothing. nullopt where none gains.
std::optional<Advice> with_best_bucket(const Replay& replay, const Advice& advice) {
  constexpr std::array kSizes{"50M", "100M", "200M", "400M"};
  std::optional<Advice> best;
  double best_ms = kMaxOfStep * replay.step_ms();
  for (const char* size : kSizes) {
    Advice tried = advice;
    tried.command.replace(tried.command.rfind(tried.value), tried.value.size(), size);
    tried.value = size;
    const auto step_ms = predicted_ms(replay, tried);
    if (step_ms && *step_ms < best_ms) {
      best = std::move(tried);
      best_ms = *step_ms;
    }
  }
  return best;
}

std::string prediction_text(double step_ms, double then_ms) {
  return then_ms > kMaxOfStep * step_ms
             ? " (predicted: no gain)"
             : fmt::format(" (predicted: {} a step instead of {})", math::format_ms(then_ms),
                           math::format_ms(step_ms));
}

}  // namespace

void foretell(const Replay& replay, Verdict& verdict) {
  std::vector<Advice> kept;
  for (Advice& advice : verdict.advice) {
    const auto step_ms = predicted_ms(replay, advice);
    std::optional<Advice> wanted = std::move(advice);
    if (step_ms && wanted->option == "--bucket") {
      wanted = with_best_bucket(replay, *wanted);
    }
    if (!wanted) continue;
    if (const auto then_ms = predicted_ms(replay, *wanted)) {
      wanted->what += prediction_text(replay.step_ms(), *then_ms);
    }
    kept.push_back(*std::move(wanted));
  }
  verdict.advice = std::move(kept);
}

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
