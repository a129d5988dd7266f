#include "capture/step/mark_steps.h"

namespace chokepoint::capture::step {
namespace {

constexpr std::size_t kMostBegunRanks = 1'024;
constexpr std::int64_t kMostDelayNs = 60'000'000'000;

}  // namespace

std::int64_t time_of(const Mark& mark, std::int64_t received_ns) {
  const std::int64_t t_ns = mark.t_ns.value_or(received_ns);
  return t_ns <= received_ns && received_ns - t_ns < kMostDelayNs ? t_ns : received_ns;
}

std::optional<Step> MarkSteps::take(const Mark& mark, std::optional<int> rank, std::int64_t t_ns) {
  const auto at = begun_.find(rank.value_or(-1));
  if (at == begun_.end()) {
    if (begun_.size() < kMostBegunRanks) {
      begun_[rank.value_or(-1)] = {t_ns, mark.number.value_or(0), mark.samples};
    }
    return std::nullopt;
  }
  Begun& begun = at->second;
  Step step{.start_ns = begun.t_ns,
            .end_ns = t_ns,
            .number = begun.number,
            .rank = rank,
            .source = record::StepSource::Marks,
            .samples = begun.samples};
  begun = {t_ns, mark.number.value_or(begun.number + 1), mark.samples};
  return step.end_ns > step.start_ns ? std::optional(step) : std::nullopt;
}

}  // namespace chokepoint::capture::step
