#include "analysis/attribution/diagnose.h"

#include <algorithm>

#include "analysis/attribution/gpu_copies.h"
#include "analysis/attribution/judgement.h"
#include "analysis/attribution/network.h"
#include "analysis/attribution/ranks.h"
#include "analysis/attribution/rdma.h"
#include "analysis/attribution/rdma_phases.h"
#include "analysis/attribution/scene.h"
#include "analysis/attribution/starvation.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

StepTimes times_of(const StepLine& steps) {
  std::vector<double> ms;
  for (const Span& step : steps.all) {
    ms.push_back(static_cast<double>(step.length_ns()) / 1e6);
  }
  return {.source = steps.source,
          .count = static_cast<std::int64_t>(ms.size()),
          .mean_ms = math::mean(ms),
          .median_ms = math::median(ms),
          .p99_ms = math::quantile(ms, 0.99)};
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

void add_ranks(const Scene& scene, Diagnosis& diagnosis) {
  for (std::size_t place = 0; place < scene.run.nodes.size(); ++place) {
    if (const auto rank = scene.run.nodes[place].rank()) {
      diagnosis.ranks.push_back(
          {.rank = *rank,
           .node = scene.run.nodes[place].name,
           .computing_ms = scene.phases.computing_ms + scene.phases.late_ms[place],
           .waiting_ms = scene.phases.waiting_ms() - scene.phases.late_ms[place]});
    }
  }
  std::ranges::sort(diagnosis.ranks, {}, &RankFigures::rank);
}

}  // namespace

Diagnosis diagnose(const RunData& run, const DiagnoseOptions& options) {
  Diagnosis diagnosis;
  describe_run(run, diagnosis);
  const Clocks clocks = fit_clocks(run);
  std::ranges::copy(clocks.missing, std::back_inserter(diagnosis.missing));
  const StepLine steps = choose_steps(run, clocks);
  diagnosis.steps = times_of(steps);
  Phases phases = phases_of(run, clocks, steps);
  const bool is_rdma = goes_by_rdma(run, clocks, steps);
  if (phases.step_ms <= 0 || (phases.source == PhaseSource::None && !is_rdma)) {
    diagnosis.verdict = gone_rank(run).value_or(Verdict{});
    return diagnosis;
  }
  if (is_rdma) {
    phases = rdma_phases(run, clocks, steps, std::move(phases));
  }
  if (phases.source != PhaseSource::Library) {
    diagnosis.missing.emplace_back(
        "the library's messages were not seen: a rank that comes late may look like computing");
  }
  const Blame blame = blame_of(run, clocks, phases.communicating);
  const Scene scene{.run = run,
                    .options = options,
                    .clocks = clocks,
                    .steps = steps,
                    .phases = phases,
                    .blame = blame};
  Findings findings = is_rdma ? rdma_findings(scene) : network_findings(scene);
  add_late(scene, findings);
  add_starvation(scene, findings);
  add_gpu_copies(scene, findings);
  judge(scene, std::move(findings), diagnosis);
  add_ranks(scene, diagnosis);
  return diagnosis;
}

}  // namespace chokepoint::analysis
