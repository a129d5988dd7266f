#include "analysis/attribution/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/attribution/ceilings.h"
#include "analysis/attribution/findings.h"
#include "analysis/attribution/gains.h"
#include "analysis/attribution/gpu_copies.h"
#include "analysis/attribution/hosts.h"
#include "analysis/attribution/input.h"
#include "analysis/attribution/judgement.h"
#include "analysis/attribution/network.h"
#include "analysis/attribution/profile.h"
#include "analysis/attribution/rank_places.h"
#include "analysis/attribution/ranks.h"
#include "analysis/attribution/rdma.h"
#include "analysis/attribution/rdma_traffic.h"
#include "analysis/attribution/route.h"
#include "analysis/attribution/stall.h"
#include "analysis/attribution/step_accounts.h"
#include "analysis/attribution/what_if.h"
#include "base/math/statistics.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

StepTimes times_of(const StepLine& steps) {
  std::vector<double> ms;
  for (const Span& step : steps.settled.empty() ? steps.all : steps.settled) {
    ms.push_back(static_cast<double>(step.length_ns()) / 1e6);
  }
  return {.source = steps.source,
          .count = static_cast<std::int64_t>(steps.all.size()),
          .settled = static_cast<std::int64_t>(ms.size()),
          .mean_ms = math::mean(ms),
          .median_ms = math::median(ms),
          .p99_ms = math::quantile(ms, 0.99)};
}

RoundTimes times_of(const SyncRounds& rounds) {
  std::vector<double> ms;
  std::vector<double> bytes;
  for (const SyncSteps& sync : rounds.syncs) {
    ms.push_back(std::max(0.0, sync.extra_ns / 1e6));
    bytes.push_back(sync.bytes);
  }
  RoundTimes times{.every_steps = rounds.every,
                   .syncs = static_cast<std::int64_t>(rounds.syncs.size()),
                   .inner_ms = rounds.inner_ns / 1e6,
                   .sync_ms = math::distribution(ms),
                   .sync_bytes = *math::median(bytes)};
  const double computing_ms = static_cast<double>(times.every_steps) * times.inner_ms;
  times.utilisation_percent = math::kPercent * computing_ms / (computing_ms + times.sync_ms.mean);
  return times;
}

void describe_run(const RunData& run, Diagnosis& diagnosis) {
  diagnosis.missing = run.missing;
  diagnosis.is_complete = !run.nodes.empty();
  for (const NodeData& node : run.nodes) {
    diagnosis.nodes.push_back(node.name);
    diagnosis.command = diagnosis.command.empty() ? node.command : diagnosis.command;
    diagnosis.labels.insert(node.labels.begin(), node.labels.end());
    diagnosis.is_complete = diagnosis.is_complete && node.is_complete;
  }
}

void add_ranks(const DiagnosisInput& input, std::span<const StarvedHost> starved,
               Diagnosis& diagnosis) {
  const auto add = [&](std::int64_t rank, std::size_t place, double late_ms) {
    double waited_ms = 0;
    for (const StarvedHost& host : starved) {
      waited_ms += host.node == place ? 0 : host.ms;
    }
    diagnosis.ranks.push_back(
        {.rank = rank,
         .node = input.run.nodes[place].name,
         .computing_ms = input.phases.computing_ms + late_ms - waited_ms,
         .waiting_ms = input.phases.waiting_ms() - late_ms + waited_ms,
         .communicating_ms = input.phases.exposed_ms + input.phases.unattributed.ms});
  };
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    if (const auto rank = input.run.nodes[place].rank()) {
      add(*rank, place, input.phases.late_ms[place]);
      continue;
    }
    for (const RankLateness& each : input.phases.ranks) {
      if (each.node == place && each.rank >= 0) {
        add(each.rank, place, each.late_ms);
      }
    }
  }
  std::ranges::sort(diagnosis.ranks, {}, &RankFigures::rank);
}

bool has_nccl(const RunData& run) {
  return std::ranges::any_of(run.nodes, [](const NodeData& node) {
    return node.has_collectives_of(record::CollectiveSource::Nccl);
  });
}

// nullopt of two steps: too few for an interval.
std::optional<Accounting> uncertainty_of(const std::vector<StepAccounts>& steps) {
  constexpr std::size_t kMinStepsForInterval = 3;
  constexpr double kDeviations = 1.96;  // of the mean, on either side: 95 %
  if (steps.size() < kMinStepsForInterval) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(steps.size());
  Accounting uncertainty;
  for (std::size_t account = 0; account < kAccounts; ++account) {
    const auto of_step = [&](const StepAccounts& step) { return step.accounting.ms.at(account); };
    const double mean = math::sum_by(steps, of_step) / count;
    const double squares = math::sum_by(steps, [&](const StepAccounts& step) {
      return (of_step(step) - mean) * (of_step(step) - mean);
    });
    uncertainty.ms.at(account) = kDeviations * std::sqrt(squares / (count - 1) / count);
  }
  return uncertainty;
}

// Also where there are no steps, and so no limits of connections.
void advise(const RunData& run, const DiagnoseOptions& options, const Inquiry& inquiry,
            Verdict& verdict) {
  const LimitTimeline none;
  advise({.run = run,
          .options = options,
          .clocks = inquiry.clocks,
          .steps = inquiry.steps,
          .phases = inquiry.phases,
          .limit_timeline = inquiry.limit_timeline ? *inquiry.limit_timeline : none},
         verdict);
}

// What the steps before lost is second to that.
void judge_stall(const RunData& run, const DiagnoseOptions& options, Inquiry& inquiry) {
  auto found = stalled(run, inquiry.clocks);
  if (!found) {
    inquiry.diagnosis.pause = pause_of(run, inquiry.clocks);
    return;
  }
  add_places(run, *found);
  advise(run, options, inquiry, *found);
  Diagnosis& diagnosis = inquiry.diagnosis;
  if (diagnosis.verdict.lost_ms_per_step > 0) {
    diagnosis.others.insert(diagnosis.others.begin(), std::move(diagnosis.verdict));
  }
  diagnosis.verdict = *std::move(found);
}

Inquiry examined(const RunData& run, const DiagnoseOptions& options) {
  Inquiry inquiry{.clocks = fit_clocks(run)};
  Diagnosis& diagnosis = inquiry.diagnosis;
  describe_run(run, diagnosis);
  std::ranges::copy(inquiry.clocks.missing, std::back_inserter(diagnosis.missing));
  inquiry.steps = choose_steps(run, inquiry.clocks);
  diagnosis.steps = times_of(inquiry.steps);
  diagnosis.purposes = purposes_of(run);
  diagnosis.goodput = goodput_of(run, inquiry.clocks, inquiry.steps);
  if (inquiry.steps.rounds) {
    diagnosis.rounds = times_of(*inquiry.steps.rounds);
  }
  inquiry.phases = phases_of(run, inquiry.clocks, inquiry.steps);
  const bool is_rdma = goes_by_rdma(run, inquiry.clocks, inquiry.steps);
  if (inquiry.phases.step_ms <= 0 || (inquiry.phases.source == PhaseSource::None && !is_rdma)) {
    diagnosis.verdict = early_end(run).value_or(Verdict{});
    advise(run, options, inquiry, diagnosis.verdict);
    return inquiry;
  }
  if (is_rdma) {
    inquiry.phases = rdma_phases(run, inquiry.clocks, inquiry.steps, std::move(inquiry.phases));
  }
  const bool is_alone = inquiry.phases.source == PhaseSource::Alone && !is_rdma;
  if (inquiry.phases.source != PhaseSource::Library && !is_alone) {
    diagnosis.missing.emplace_back(
        "the library's messages were not seen: a rank that arrives late may be counted as "
        "computing");
    if (has_nccl(run)) {
      diagnosis.missing.emplace_back(
          "NCCL's plugin recorded when ranks arrived for too few whole steps: set "
          "CHOKEPOINT_NCCL_WINDOW=all in the job's environment to record all");
    }
  }
  if (inquiry.phases.unattributed.ms > 0) {
    diagnosis.missing.emplace_back(
        "NCCL was not asked for kernel events, and reported nothing else about some ranks: which "
        "of them arrives late is not known; set CHOKEPOINT_NCCL_EVENTS=proxies,steps,kernels in "
        "the job's "
        "environment");
  }
  inquiry.limit_timeline = limit_timeline_of(run, inquiry.clocks, inquiry.phases.communicating);
  const DiagnosisInput input = input_of(run, options, inquiry);
  Findings findings = is_rdma ? rdma_findings(input) : network_findings(input);
  add_late(input, findings);
  add_starvation(input, findings);
  add_input(input, findings);
  add_gpu_copies(input, findings);
  if (is_alone) {
    add_idleness(input, findings);
  }
  add_nccl_waits(input, findings);
  const std::optional<Replay> replay = Replay::of({.run = run,
                                                   .clocks = inquiry.clocks,
                                                   .steps = inquiry.steps,
                                                   .phases = inquiry.phases,
                                                   .path = path_of(run, *inquiry.limit_timeline)});
  measure_gains(input, replay, findings);
  const std::vector<StarvedHost> starved = findings.starved;
  judge(input, std::move(findings), diagnosis);
  if (replay) foretell(*replay, diagnosis.verdict);
  add_ranks(input, starved, diagnosis);
  const std::vector<StepAccounts> accounts = step_accounts(run, options, inquiry);
  diagnosis.uncertainty = uncertainty_of(accounts);
  diagnosis.what_ifs = what_ifs_of(replay, inquiry, accounts);
  if (replay) diagnosis.critical_path = replay->critical_path(diagnosis.nodes);
  return inquiry;
}

}  // namespace

std::string steps_text(const StepTimes& steps) {
  if (!steps.source) {
    return "no steps were found";
  }
  const bool are_all = steps.settled == steps.count;
  return fmt::format("{} steps from {}",
                     are_all ? fmt::format("{}", steps.count)
                             : fmt::format("{} of {}", steps.settled, steps.count),
                     name_of(*steps.source));
}

Inquiry inquire(const RunData& run, const DiagnoseOptions& options) {
  Inquiry inquiry = examined(run, options);
  judge_stall(run, options, inquiry);
  inquiry.diagnosis.ceilings = ceilings_of(run, inquiry.clocks);
  hold_against(inquiry.diagnosis.ceilings, inquiry.diagnosis);
  remark_family(run, inquiry.diagnosis.verdict);
  return inquiry;
}

Diagnosis diagnose(const RunData& run, const DiagnoseOptions& options) {
  return inquire(run, options).diagnosis;
}

}  // namespace chokepoint::analysis
