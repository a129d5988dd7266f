#include "analysis/evidence/step_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/math/statistics.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

using About = Claim::About;

constexpr double kMinDeviations = 5;      // above the median, to be slow
constexpr double kMinMoreOfMedian = 0.2;  // likewise
constexpr std::size_t kMinTimes = 3;
constexpr double kMinInPeriod = 0.8;   // of the slow ones, which come after that many steps
constexpr double kMinSeenOfAll = 0.6;  // of the moments at which one should come
constexpr double kMinShare = 0.01;     // of all time
constexpr double kMinRatio = 1.2;      // of a time that changed
constexpr std::size_t kMinOnASide = 8;

struct Usual {
  double median_ms = 0;
  double deviation_ms = 0;

  bool is_slow(const PrintedSteps& step) const {
    const double more_ms = step.ms - median_ms;
    return more_ms > kMinDeviations * deviation_ms && more_ms > kMinMoreOfMedian * median_ms;
  }
};

std::vector<double> ms_of(const std::vector<PrintedSteps>& steps) {
  std::vector<double> ms;
  std::ranges::transform(steps, std::back_inserter(ms), &PrintedSteps::ms);
  return ms;
}

Usual usual_of(const std::vector<PrintedSteps>& steps) {
  const std::vector<double> ms = ms_of(steps);
  return {.median_ms = math::median(ms).value_or(0),
          .deviation_ms = math::kDeviationsPerMedianDeviation *
                          math::median_absolute_deviation(ms).value_or(0)};
}

double total_ms(const std::vector<PrintedSteps>& steps) {
  return math::sum_by(
      steps, [](const PrintedSteps& each) { return each.ms * static_cast<double>(each.count); });
}

// What most of the distances are.
std::pair<std::uint64_t, std::size_t> commonest_distance(const std::vector<PrintedSteps>& slow) {
  std::map<std::uint64_t, std::size_t> counts;
  for (std::size_t at = 1; at < slow.size(); ++at) {
    ++counts[slow[at].ordinal - slow[at - 1].ordinal];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  return most == counts.end() ? std::pair<std::uint64_t, std::size_t>()
                              : std::pair<std::uint64_t, std::size_t>(most->first, most->second);
}

}  // namespace

std::optional<SlowSteps> periodic_in(const std::vector<PrintedSteps>& steps) {
  const Usual usual = usual_of(steps);
  std::vector<PrintedSteps> slow;
  std::ranges::copy_if(steps, std::back_inserter(slow),
                       [&](const PrintedSteps& each) { return usual.is_slow(each); });
  const auto [every, times] = commonest_distance(slow);
  if (slow.size() < kMinTimes || every < 2 || every <= slow.front().count ||
      static_cast<double>(times) < kMinInPeriod * static_cast<double>(slow.size() - 1)) {
    return std::nullopt;
  }
  const std::uint64_t span = steps.back().ordinal - steps.front().ordinal + 1;
  const auto places = span / every;
  if (static_cast<double>(slow.size()) < kMinSeenOfAll * static_cast<double>(places)) {
    return std::nullopt;
  }
  std::vector<double> more_ms;
  for (const PrintedSteps& each : slow) {
    more_ms.push_back((each.ms - usual.median_ms) * static_cast<double>(each.count));
  }
  const double all_ms = math::sum_by(more_ms, [](double ms) { return ms; });
  SlowSteps found{.every = every,
                  .times = slow.size(),
                  .more_ms = math::median(more_ms).value_or(0),
                  .share = all_ms / total_ms(steps)};
  return found.share >= kMinShare ? std::optional(found) : std::nullopt;
}

// Where two means differ most, of times of which wild ones are cut.
std::optional<ChangedSteps> change_in(const std::vector<PrintedSteps>& steps) {
  if (steps.size() < 2 * kMinOnASide) {
    return std::nullopt;
  }
  std::vector<double> ms = ms_of(steps);
  const double least = math::quantile(ms, 0.05).value_or(0);
  const double most = math::quantile(ms, 0.95).value_or(0);
  double sum = 0;
  for (double& each : ms) {
    each = std::clamp(each, least, most);
    sum += each;
  }
  const auto size = static_cast<double>(ms.size());
  std::size_t best = 0;
  double best_score = 0;
  double before = 0;
  for (std::size_t at = 1; at + kMinOnASide <= ms.size(); ++at) {
    before += ms[at - 1];
    const auto left = static_cast<double>(at);
    const double apart = std::abs(before / left - (sum - before) / (size - left));
    const double score = apart * std::sqrt(left * (size - left));
    if (at >= kMinOnASide && score > best_score) {
      best = at;
      best_score = score;
    }
  }
  if (best == 0) {
    return std::nullopt;
  }
  const auto split = steps.begin() + static_cast<std::ptrdiff_t>(best);
  const Usual first = usual_of({steps.begin(), split});
  const Usual second = usual_of({split, steps.end()});
  const double apart = std::abs(first.median_ms - second.median_ms);
  const double ratio = std::max(first.median_ms, second.median_ms) /
                       std::max(1e-9, std::min(first.median_ms, second.median_ms));
  const bool is_clear =
      ratio >= kMinRatio && apart > 2 * std::max(first.deviation_ms, second.deviation_ms);
  return is_clear
             ? std::optional(ChangedSteps{
                   .line = split->line, .before_ms = first.median_ms, .after_ms = second.median_ms})
             : std::nullopt;
}

namespace {

std::string periodic_text(const SlowSteps& slow, double median_ms, std::uint64_t count) {
  const std::string which =
      count > 1 ? fmt::format("the {} steps up to every {}th together take", count, slow.every)
                : fmt::format("every {}th step takes", slow.every);
  return fmt::format("{} {} more than the median of {}, {} times: {:.0f} % of the time", which,
                     math::format_ms(slow.more_ms), math::format_ms(median_ms), slow.times,
                     100 * slow.share);
}

void add_claims(const ToolFile& file, std::vector<Claim>& claims) {
  const std::vector<PrintedSteps>& steps = file.printed;
  const std::vector<double> ms = ms_of(steps);
  const double median_ms = math::median(ms).value_or(0);
  Claim claim{.tool = file.tool, .step_ms = median_ms, .from = file.file};
  claim.about = About::Step;
  claim.what = fmt::format("a step, the median of {} that were printed", steps.size());
  claim.value = median_ms;
  claim.unit = "ms";
  claims.push_back(claim);
  claim.about = About::Unusual;
  if (const auto slow = periodic_in(steps)) {
    claim.what = periodic_text(*slow, median_ms, steps.back().count);
    claim.value = 100 * slow->share;
    claim.unit = "percent";
    claims.push_back(claim);
  }
  if (const auto change = change_in(steps)) {
    claim.what = fmt::format("from line {} on a step takes {}, before it took {}", change->line,
                             math::format_ms(change->after_ms), math::format_ms(change->before_ms));
    claim.value = change->after_ms - change->before_ms;
    claim.unit = "ms";
    claims.push_back(claim);
  }
}

}  // namespace

std::vector<Claim> claims_of_steps(const std::vector<ToolFile>& all) {
  std::vector<Claim> claims;
  for (const ToolFile& file : all) {
    if (!file.printed.empty()) {
      add_claims(file, claims);
    }
  }
  return claims;
}

}  // namespace chokepoint::analysis
