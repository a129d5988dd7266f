#include "analysis/phases/other_stages.h"

#include <utility>

#include "base/math/statistics.h"
#include "base/math/training_pass.h"

namespace chokepoint::analysis {
namespace {

// A stage whose usual message takes so many times what the other stages' computing lets expect is
// late at each of them: a judgement, as stages do not compute exactly alike.
constexpr double kMinSlowStage = 1.5;

}  // namespace

DirectedPath path_of(const StageCompute& compute) {
  return {compute.sent->connection, compute.sent->node, compute.sent->rank};
}

UsualComputes usual_computes(const std::vector<std::vector<StageCompute>>& computes) {
  std::map<DirectedPath, std::vector<double>> of_path;
  for (const auto& of_list : computes) {
    for (const StageCompute& compute : of_list) {
      of_path[path_of(compute)].push_back(compute.ns);
    }
  }
  UsualComputes usual;
  for (const auto& [path, all] : of_path) {
    usual[path] = math::median(all).value_or(0);
  }
  return usual;
}

OtherStages::OtherStages(const std::vector<std::vector<StageCompute>>& computes,
                         const UsualComputes& usual, const std::vector<PipelineEnds>& pipelines)
    : usual_(usual) {
  ComputesAt at;
  for (const PipelineEnds& ends : pipelines) {
    add_places(ends, computes, at);
    add_passes(ends, computes);
  }
  for (const auto& [place, paths] : at) {
    add_same_place(paths);
  }
}

std::optional<double> OtherStages::allowed_ns(std::size_t stage,
                                              const StageCompute& compute) const {
  const double usual_ns = usual_.at(path_of(compute));
  const auto same = same_place_.find(path_of(compute));
  if (same != same_place_.end()) {
    return usual_ns <= kMinSlowStage * same->second.ns ? std::nullopt
           : compute.has_received                      ? same->second.after_receiving_ns
                                                       : same->second.going_on_ns;
  }
  const auto pass_ns = by_pass(stage, compute);
  return pass_ns && usual_ns > kMinSlowStage * *pass_ns ? pass_ns : std::nullopt;
}

void OtherStages::add_places(const PipelineEnds& ends,
                             const std::vector<std::vector<StageCompute>>& computes,
                             ComputesAt& at) {
  std::map<std::int64_t, std::size_t> nearer;  // by connection, which of its ends
  for (std::size_t depth = 0; depth < ends.stages.size(); ++depth) {
    for (const StageCompute& compute : computes[ends.stages[depth]]) {
      if (compute.sent->connection < 0) {
        continue;  // seen before it was known to which one they belong
      }
      const DirectedPath path = path_of(compute);
      const bool is_forward = nearer.try_emplace(std::get<0>(path), depth).first->second == depth;
      Computes& of_path = at[{ends.stages.size(), depth, is_forward}][path];
      (compute.has_received ? of_path.after_receiving : of_path.going_on).push_back(compute.ns);
    }
  }
}

void OtherStages::add_same_place(const std::map<DirectedPath, Computes>& paths) {
  std::map<DirectedPath, Usual> of_path;
  for (const auto& [path, computes] : paths) {
    of_path[path] = {.ns = usual_.at(path),
                     .after_receiving_ns = math::median(computes.after_receiving),
                     .going_on_ns = math::median(computes.going_on)};
  }
  for (const auto& [own, of_own] : of_path) {
    std::vector<double> usual;
    std::vector<double> after_receiving;
    std::vector<double> going_on;
    for (const auto& [path, other] : of_path) {
      if (path != own) {
        usual.push_back(other.ns);
        if (other.after_receiving_ns) after_receiving.push_back(*other.after_receiving_ns);
        if (other.going_on_ns) going_on.push_back(*other.going_on_ns);
      }
    }
    if (!usual.empty()) {
      same_place_[own] = {.ns = *math::median(usual),
                          .after_receiving_ns = math::median(after_receiving),
                          .going_on_ns = math::median(going_on)};
    }
  }
}

void OtherStages::add_passes(const PipelineEnds& ends,
                             const std::vector<std::vector<StageCompute>>& computes) {
  std::map<std::size_t, double> passes_ns;
  for (const std::size_t stage : ends.stages) {
    is_first_[stage] = stage == ends.first;
    if (const std::optional<double> ns = pass_ns(computes[stage], stage, ends)) {
      passes_ns[stage] = *ns;
    }
  }
  for (const std::size_t stage : ends.stages) {
    std::vector<double> others;
    for (const auto& [other, ns] : passes_ns) {
      if (other != stage) others.push_back(ns);
    }
    if (const std::optional<double> ns = math::median(others)) {
      expected_pass_ns_[stage] = *ns;
    }
  }
}

// Of a pass: what was received since the last message may have been passed forward, too.
std::optional<double> OtherStages::by_pass(std::size_t stage, const StageCompute& compute) const {
  const auto pass_ns = expected_pass_ns_.find(stage);
  if (pass_ns == expected_pass_ns_.end()) {
    return std::nullopt;
  }
  return pass_ns->second * (compute.has_received  ? 1
                            : is_first_.at(stage) ? math::kForwardShare
                                                  : math::kBackwardShare);
}

// Forward and backward: the first stage only sends forward, the last one only backward.
std::optional<double> OtherStages::pass_ns(const std::vector<StageCompute>& computes,
                                           std::size_t stage, const PipelineEnds& ends) const {
  std::map<DirectedPath, double> paths;
  for (const StageCompute& compute : computes) {
    // The first messages may have been seen before it was known to which connection they belong.
    if (compute.sent->connection >= 0) {
      paths[path_of(compute)] = usual_.at(path_of(compute));
    }
  }
  double sum_ns = 0;
  for (const auto& [path, ns] : paths) {
    sum_ns += ns;
  }
  const bool is_end = stage == ends.first || stage == ends.last;
  if (sum_ns <= 0 || paths.size() != (is_end ? 1U : 2U)) {
    return std::nullopt;
  }
  return stage == ends.first  ? sum_ns / math::kForwardShare
         : stage == ends.last ? sum_ns / math::kBackwardShare
                              : sum_ns;
}

}  // namespace chokepoint::analysis
