#include "analysis/compare/run_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/attribution/sentences.h"
#include "analysis/compare/epochs.h"
#include "analysis/compare/keys.h"
#include "analysis/compare/throughput.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

void set(ComparedRun& run, Figure figure, std::optional<Told> told) {
  run.figures[place_of(figure)] = std::move(told);
}

void set(ComparedRun& run, Figure figure, std::optional<double> value, std::string from) {
  set(run, figure, value ? std::optional(Told{*value, std::move(from)}) : std::nullopt);
}

std::optional<std::int64_t> gpus_of(const Labels& labels, const RunData& data) {
  if (const std::optional<std::int64_t> gpus = count_of(labels, "gpus")) {
    return gpus;
  }
  if (const std::optional<Setup> setup = setup_of(labels)) {
    return setup->nodes * setup->each;
  }
  std::int64_t told = 0;
  std::int64_t seen = 0;
  for (const NodeData& node : data.nodes) {
    for (const record::Process& process : node.processes) {
      told = std::max(told, process.world_size.value_or(0));
      seen = std::max(seen, process.rank.value_or(-1) + 1);
    }
  }
  const std::int64_t most = told > 0 ? told : seen;
  return most > 0 ? std::optional(most) : std::nullopt;
}

void take_network(const RunSummary& summary, ComparedRun& run) {
  std::optional<Told> most;
  std::vector<const NodeSummary*> telling;
  for (const NodeSummary& node : summary.nodes) {
    const std::optional<double> mbps = full_duplex_mbps(node.volume, node.duration_s);
    if (mbps) {
      telling.push_back(&node);
      if (!most || *mbps > most->value) {
        most = Told{*mbps, fmt::format("frames of the job that {} sent and received, over {:.3f} s",
                                       node.name, *node.duration_s)};
      }
    }
  }
  set(run, Figure::NetworkMbps, most);
  // What one node alone tells is what passed it either way: the others' sending is its receiving.
  if (telling.size() == 1) {
    const Volume& volume = telling.front()->volume;
    set(run, Figure::VolumeBytes, *volume.sent_bytes + *volume.received_bytes,
        fmt::format("frames that {} sent and received", telling.front()->name));
  } else {
    set(run, Figure::VolumeBytes, summary.volume.sent_bytes,
        fmt::format("frames that {} nodes sent", telling.size()));
  }
}

void take_steps(const Diagnosis& diagnosis, ComparedRun& run) {
  run.steps = diagnosis.steps;
  if (!run.steps.source) {
    return;
  }
  const std::string from =
      fmt::format("{} steps from {}", run.steps.count, name_of(*run.steps.source));
  set(run, Figure::StepMs, run.steps.mean_ms, from);
  set(run, Figure::MedianStepMs, run.steps.median_ms, from);
  set(run, Figure::P99StepMs, run.steps.p99_ms, from);
  if (run.accounting) {
    set(run, Figure::LostMs, run.verdict.lost_ms_per_step, "the verdict");
  }
}

std::optional<double> peak_memory(const RunData& data) {
  std::optional<double> most;
  for (const NodeData& node : data.nodes) {
    for (const SeriesData* series : node.find(record::kGpuMemory)) {
      for (const Reading& reading : series->readings) {
        for (const double value : {reading.value, reading.peak}) {
          most = std::isfinite(value) ? std::max(most.value_or(value), value) : most;
        }
      }
    }
  }
  return most;
}

void note(const RunSummary& summary, ComparedRun& run) {
  for (const NodeSummary& node : summary.nodes) {
    if (node.damage) {
      run.remarks.push_back(fmt::format("the record of {} is cut short or damaged", node.name));
    }
  }
  if (!summary.unreadable.empty()) {
    run.remarks.emplace_back("a node's record cannot be read");
  }
  if (run.exit_status.value_or(0) != 0) {
    run.remarks.push_back(fmt::format("the job ended with {}", *run.exit_status));
  } else if (!run.is_complete) {
    run.remarks.emplace_back("not watched to the end");
  }
  if (!run.steps.source) {
    run.remarks.emplace_back("no steps are told");
  }
}

}  // namespace

ComparedRun figures_of(const RunParts& parts, const std::string& samples_label) {
  const auto& [summary, data, diagnosis] = parts;
  ComparedRun run{.command = summary.command,
                  .labels = summary.labels,
                  .nodes = diagnosis.nodes,
                  .is_complete = diagnosis.is_complete,
                  .exit_status = summary.exit_status,
                  .gpus = gpus_of(summary.labels, data),
                  .accounting = diagnosis.accounting,
                  .verdict = diagnosis.verdict,
                  .sentence = sentence_of(diagnosis)};
  const std::vector<StepRows> all = step_rows_of(data);
  const StepRows* rows = main_rows(all);
  take_steps(diagnosis, run);
  take_network(summary, run);
  set(run, Figure::SamplesPerS, samples_per_s(all, run.labels, samples_label, run.steps.mean_ms));
  set(run, Figure::EpochS, second_epoch_s(data, rows));
  set(run, Figure::DurationS, summary.duration_s, "the longest of its nodes' records");
  set(run, Figure::GpuMemoryBytes, peak_memory(data), "gpu.memory_bytes");
  run.step_ms = rows == nullptr ? std::vector<double>() : settled_step_ms(*rows);
  note(summary, run);
  return run;
}

}  // namespace chokepoint::analysis
