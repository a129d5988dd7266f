#include "probe/path/loss.h"

#include <algorithm>

namespace chokepoint::probe::path {
namespace {

constexpr double kAll = 100.0;

// The least that this hop or one behind it lost.
std::vector<double> least_from_here(const std::vector<Hop>& hops) {
  std::vector<double> least(hops.size(), kAll);
  double so_far = kAll;
  for (std::size_t i = hops.size(); i-- > 0;) {
    so_far = std::min(so_far, hops[i].loss_percent().value_or(kAll));
    least[i] = so_far;
  }
  return least;
}

Silence judge(double loss, double least_behind) {
  if (loss <= 0) {
    return Silence::None;
  }
  if (loss >= kAll) {
    return least_behind < kAll ? Silence::Silent : Silence::Unknown;
  }
  return least_behind < loss ? Silence::RateLimited : Silence::PathLoss;
}

}  // namespace

std::string_view name_of(Silence silence) {
  switch (silence) {
    case Silence::None:
      return "none";
    case Silence::Silent:
      return "silent";
    case Silence::RateLimited:
      return "rate_limited";
    case Silence::PathLoss:
      return "path_loss";
    case Silence::Unknown:
      break;
  }
  return "unknown";
}

std::string_view words_of(Silence silence) {
  switch (silence) {
    case Silence::None:
      return "";
    case Silence::Silent:
      return "forwards, does not answer";
    case Silence::RateLimited:
      return "rate limited, not lost";
    case Silence::PathLoss:
      return "lost here or before";
    case Silence::Unknown:
      break;
  }
  return "no answer";
}

std::vector<Silence> judge_loss(const std::vector<Hop>& hops) {
  const std::vector<double> least = least_from_here(hops);
  std::vector<Silence> judged;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    const std::optional<double> loss = hops[i].loss_percent();
    const double behind = i + 1 < hops.size() ? least[i + 1] : kAll;
    judged.push_back(loss ? judge(*loss, behind) : Silence::Unknown);
  }
  return judged;
}

std::optional<double> path_loss_percent(const Trace& trace) {
  if (trace.hops.empty() || trace.hops.back().answered == 0) {
    return std::nullopt;
  }
  return trace.hops.back().loss_percent();
}

}  // namespace chokepoint::probe::path
