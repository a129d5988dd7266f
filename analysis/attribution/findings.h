// What a diagnosis is made of: the input, and the findings that network.h, rdma.h, ranks.h,
// input.h, gpu_copies.h, hosts.h and stall.h make or add to; judgement.h makes the verdict of them.
// The input is borrowed and lives as long as inquire() runs. Values; any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/attribution/diagnose.h"

namespace chokepoint::analysis {

// The settled steps by a node's own clock; without any the whole of its session.
inline Span settled_span(const RunData& run, const Clocks& clocks, const StepLine& steps,
                         std::size_t node) {
  return steps.settled.empty() ? run.nodes[node].span
                               : Span{clocks.local_ns(node, steps.settled.front().start_ns),
                                      clocks.local_ns(node, steps.settled.back().end_ns)};
}

// The run on one clock, its steps, their phases, and what held the connections back.
struct DiagnosisInput {
  const RunData& run;
  const DiagnoseOptions& options;
  const Clocks& clocks;
  const StepLine& steps;
  const Phases& phases;
  const LimitTimeline& limit_timeline;

  Span span_of(std::size_t node) const { return settled_span(run, clocks, steps, node); }
};

inline DiagnosisInput input_of(const RunData& run, const DiagnoseOptions& options,
                               const Inquiry& inquiry) {
  return {.run = run,
          .options = options,
          .clocks = inquiry.clocks,
          .steps = inquiry.steps,
          .phases = inquiry.phases,
          .limit_timeline = *inquiry.limit_timeline};
}

// Both directions are named where the lesser has this share of the greater: a judgement.
inline constexpr double kMinOtherDirection = 0.35;

// By which the confidence in a verdict falls that a probe or another tool's file contradicts. A
// judgement: how often such a verdict is right has not been counted, and the path itself may have
// changed since the probe.
inline constexpr double kContradictedFactor = 0.6;

// Of what a line or a card's slot carries, by payload: from here on it is full. A judgement.
inline constexpr double kMinFullShare = 0.7;

// A host without processor time for its rank, which the others waited for.
struct StarvedHost {
  std::size_t node = 0;
  double ms = 0;  // a step, of what looked like computing
};

// What took time of each step: into which account it goes, and verdicts without a share yet.
struct Findings {
  Accounting accounting = {};
  std::vector<Verdict> verdicts = {};
  double of_computing_ms = 0;  // of the accounts, what looked like computing
  std::vector<StarvedHost> starved = {};
  std::vector<Evidence> hints = {};  // shown where no verdict can be given
};

}  // namespace chokepoint::analysis
