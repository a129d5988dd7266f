#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include <nlohmann/json.hpp>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/diagnose.h"
#include "analysis/compare/compared_run.h"
#include "analysis/compare/host_facts.h"
#include "analysis/compare/keys.h"
#include "analysis/predict/job_profile.h"
#include "base/json/codec.h"
#include "base/math/saturating.h"
#include "base/math/statistics.h"
#include "base/record/names.h"
#include "base/sys/clock.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

using Labels = std::map<std::string, std::string>;

constexpr std::size_t kWarmUp = 2;
constexpr std::size_t kFewRows = 5;  // too few to leave any out

std::int64_t times(const record::Step& row) { return std::max<std::int64_t>(row.merged, 1); }

double busy_ms(const record::Step& row) {  // of all steps that the row stands for
  return static_cast<double>(row.busy_ns.value_or(row.end_ns - row.start_ns)) / 1e6;
}

// The steps of one rank, as one node saw them and one source reported them, in order. Rows are
// borrowed from the run.
struct StepRows {
  std::string node = {};
  record::StepSource source = record::StepSource::Traffic;
  std::int64_t rank = -1;  // -1: not known
  std::vector<const record::Step*> rows = {};

  std::int64_t count() const {  // of steps, of which a row may stand for several
    std::int64_t count = 0;
    for (const record::Step* row : rows) {
      count = math::saturated_sum(count, times(*row));
    }
    return count;
  }
};

// Rows that have no length are left out.
std::vector<StepRows> step_rows_of(const RunData& run) {
  std::vector<StepRows> all;
  for (const NodeData& node : run.nodes) {
    std::map<std::tuple<record::StepSource, std::int64_t>, StepRows> reported;
    for (const record::Step& row : node.steps) {
      if (row.end_ns > row.start_ns) {
        const std::int64_t rank = row.rank.value_or(-1);
        StepRows& rows = reported[{row.source, rank}];
        rows.rows.push_back(&row);
      }
    }
    for (auto& [key, rows] : reported) {
      rows.node = node.name;
      std::tie(rows.source, rows.rank) = key;
      std::ranges::stable_sort(rows.rows, {}, &record::Step::start_ns);
      all.push_back(std::move(rows));
    }
  }
  return all;
}

// Of the best source the one with most steps; null if there is none.
const StepRows* main_rows(const std::vector<StepRows>& all) {
  const StepRows* best = nullptr;
  for (const StepRows& rows : all) {
    const bool is_better = best == nullptr || rows.source < best->source ||
                           (rows.source == best->source && rows.count() > best->count());
    best = is_better ? &rows : best;
  }
  return best;
}

// A step's duration for each row, without the first ones, in which connections are made.
std::vector<double> settled_step_ms(const StepRows& rows) {
  const std::size_t skipped = rows.rows.size() > kWarmUp + kFewRows ? kWarmUp : 0;
  std::vector<double> durations;
  for (std::size_t at = skipped; at < rows.rows.size(); ++at) {
    durations.push_back(busy_ms(*rows.rows[at]) / static_cast<double>(times(*rows.rows[at])));
  }
  return durations;
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

std::int64_t rank_of(const record::Event& mark) {
  return json::field_in<std::int64_t>(json::object_or_null(mark.detail), "rank", "mark")
      .value_or(-1);
}

// Several ranks may mark the same epochs: only those of the first that did count.
std::vector<std::int64_t> marked_at(const NodeData& node) {
  std::vector<std::int64_t> times;
  std::optional<std::int64_t> first_rank;
  for (const record::Event& event : node.events) {
    if (event.kind == "mark" && event.subject == "epoch") {
      const std::int64_t rank = rank_of(event);
      first_rank = first_rank.value_or(rank);
      if (rank == *first_rank) {
        times.push_back(event.t_ns);
      }
    }
  }
  std::ranges::sort(times);
  return times;
}

// The last epoch's end is the last step's, of the same node's clock.
std::optional<std::int64_t> last_step_ns(const NodeData& node) {
  std::optional<std::int64_t> last;
  for (const record::Step& step : node.steps) {
    last = std::max(last.value_or(step.end_ns), step.end_ns);
  }
  return last;
}

std::optional<SourcedValue> by_marks(const RunData& run) {
  for (const NodeData& node : run.nodes) {
    const std::vector<std::int64_t> times = marked_at(node);
    if (times.size() < 2) {
      continue;
    }
    const std::optional<std::int64_t> end_ns =
        times.size() > 2 ? std::optional(times[2]) : last_step_ns(node);
    if (end_ns && *end_ns > times[1]) {
      return SourcedValue{seconds(*end_ns - times[1]), "marks of epochs on " + node.name};
    }
  }
  return std::nullopt;
}

// The rows at which an epoch begins: the first, and each whose number is lower than the one before.
std::vector<std::size_t> beginnings_of(const StepRows& rows) {
  std::vector<std::size_t> starts{0};
  for (std::size_t at = 1; at < rows.rows.size(); ++at) {
    if (rows.rows[at]->number < rows.rows[at - 1]->number) {
      starts.push_back(at);
    }
  }
  return starts;
}

// How long the second epoch took (in the first one connections are made and caches filled): by
// marks of the name "epoch", one where each begins, else by steps whose number begins again. `rows`
// may be null.
std::optional<SourcedValue> second_epoch_s(const RunData& run, const StepRows* rows) {
  if (std::optional<SourcedValue> marked = by_marks(run)) {
    return marked;
  }
  if (rows == nullptr || rows->rows.empty()) {
    return std::nullopt;
  }
  const std::vector<std::size_t> starts = beginnings_of(*rows);
  if (starts.size() < 2) {
    return std::nullopt;
  }
  const std::size_t after = starts.size() > 2 ? starts[2] : rows->rows.size();
  const std::int64_t start_ns = rows->rows[starts[1]]->start_ns;
  return SourcedValue{seconds(rows->rows[after - 1]->end_ns - start_ns),
                      "steps on " + rows->node + ", whose numbers begin again"};
}

// Samples of training data a second, by the rows that have samples, from the second of them on.
std::optional<double> rate_of(const StepRows& rows) {
  double samples = 0;
  double busy = 0;
  std::vector<const record::Step*> with_samples = rows.rows;
  std::erase_if(with_samples, [](const record::Step* row) { return !row->samples.known(); });
  for (std::size_t at = with_samples.size() > 1 ? 1 : 0; at < with_samples.size(); ++at) {
    samples += static_cast<double>(with_samples[at]->samples.value());
    busy += busy_ms(*with_samples[at]);
  }
  return samples > 0 && busy > 0 ? std::optional(samples / busy * 1e3) : std::nullopt;
}

struct Rates {
  std::optional<record::StepSource> source = {};
  double sum = 0;
  double most = 0;
  int count = 0;
};

Rates rates_of(const std::vector<StepRows>& all) {
  Rates rates;
  for (const StepRows& rows : all) {
    const std::optional<double> rate = rate_of(rows);
    if (!rate || (rates.source && *rates.source < rows.source)) {
      continue;
    }
    if (rates.source != rows.source) {
      rates = {.source = rows.source};
    }
    rates.sum += *rate;
    rates.most = std::max(rates.most, *rate);
    ++rates.count;
  }
  return rates;
}

bool share_samples(const Labels& labels) {
  const auto label = labels.find("parallelism");
  const Parallelism kind =
      label == labels.end() ? Parallelism::Unknown : parallelism_named(label->second);
  return kind == Parallelism::Tensor || kind == Parallelism::Pipeline;
}

// A label's value as a number above 0.
std::optional<double> number_of(const Labels& labels, const std::string& key) {
  const auto label = labels.find(key);
  if (label == labels.end()) {
    return std::nullopt;
  }
  const auto value = sys::parse_number<double>(label->second);
  return value && *value > 0 && *value < 1e15 ? value : std::nullopt;
}

// Of the whole job. The label `samples_label` has the samples of one step of the whole job and goes
// before what steps say. Those are summed over ranks, unless all ranks work on the same samples.
std::optional<SourcedValue> samples_per_s(const std::vector<StepRows>& all, const Labels& labels,
                                          const std::string& samples_label,
                                          std::optional<double> mean_step_ms) {
  const std::optional<double> each = number_of(labels, samples_label);
  if (each && mean_step_ms.value_or(0) > 0) {
    return SourcedValue{*each / *mean_step_ms * 1e3,
                        fmt::format("label {} over the mean step", samples_label)};
  }
  const Rates rates = rates_of(all);
  if (!rates.source) {
    return std::nullopt;
  }
  const std::string_view source = name_of(*rates.source);
  if (rates.count == 1) {
    return SourcedValue{rates.sum, fmt::format("samples of steps from {}", source)};
  }
  return share_samples(labels)
             ? SourcedValue{rates.most,
                            fmt::format("samples of steps from {}, the most of {} ranks: all "
                                        "work on the same",
                                        source, rates.count)}
             : SourcedValue{rates.sum, fmt::format("samples of steps from {}, of {} ranks", source,
                                                   rates.count)};
}

void set(ComparedRun& run, Figure figure, std::optional<SourcedValue> value) {
  run.figures[place_of(figure)] = std::move(value);
}

void set(ComparedRun& run, Figure figure, std::optional<double> value, std::string from) {
  set(run, figure, value ? std::optional(SourcedValue{*value, std::move(from)}) : std::nullopt);
}

std::optional<std::int64_t> gpus_of(const Labels& labels, const RunData& data) {
  if (const std::optional<std::int64_t> gpus = count_of(labels, "gpus")) {
    return gpus;
  }
  if (const std::optional<Setup> setup = setup_of(labels)) {
    return setup->nodes * setup->each;
  }
  std::int64_t reported = 0;
  std::int64_t seen = 0;
  for (const NodeData& node : data.nodes) {
    for (const record::Process& process : node.processes) {
      reported = std::max(reported, process.world_size.value_or(0));
      seen = std::max(seen, process.rank.value_or(-1) + 1);
    }
  }
  const std::int64_t most = reported > 0 ? reported : seen;
  return most > 0 ? std::optional(most) : std::nullopt;
}

void take_network(const RunSummary& summary, ComparedRun& run) {
  std::optional<SourcedValue> most;
  std::vector<const NodeSummary*> measured;
  for (const NodeSummary& node : summary.nodes) {
    const std::optional<double> mbps = full_duplex_mbps(node.volume, node.duration_s);
    if (mbps) {
      measured.push_back(&node);
      if (!most || *mbps > most->value) {
        most = SourcedValue{
            *mbps, fmt::format("frames of the job that {} sent and received, over {:.3f} s",
                               node.name, *node.duration_s)};
      }
    }
  }
  set(run, Figure::NetworkMbps, most);
  // A single node's record shows what passed it either way: the others' sending is its receiving.
  if (measured.size() == 1) {
    const Volume& volume = measured.front()->volume;
    set(run, Figure::VolumeBytes, *volume.sent_bytes + *volume.received_bytes,
        fmt::format("frames that {} sent and received", measured.front()->name));
  } else {
    set(run, Figure::VolumeBytes, summary.volume.sent_bytes,
        fmt::format("frames that {} nodes sent", measured.size()));
  }
}

// What ranks wait for each other's data, whatever holds these up; not for a late rank, input or
// storage.
double exposed_ms(const Accounting& accounting) {
  constexpr std::array kOfCommunication{
      Account::Link,         Account::Loss,       Account::Window, Account::Library,
      Account::ReceiverHost, Account::SenderHost, Account::Pcie,   Account::Latency};
  return math::sum_by(kOfCommunication, [&](Account account) { return accounting[account]; });
}

void take_steps(const Diagnosis& diagnosis, ComparedRun& run) {
  run.steps = diagnosis.steps;
  if (!run.steps.source) {
    return;
  }
  const std::string from = steps_text(run.steps);
  set(run, Figure::StepMs, run.steps.mean_ms, from);
  set(run, Figure::MedianStepMs, run.steps.median_ms, from);
  set(run, Figure::P99StepMs, run.steps.p99_ms, from);
  if (run.accounting) {
    set(run, Figure::LostMs, run.verdict.lost_ms_per_step, "the verdict");
    set(run, Figure::InputMs, (*run.accounting)[Account::Input], "the accounts of a step");
    set(run, Figure::StorageMs, (*run.accounting)[Account::Storage], "the accounts of a step");
    set(run, Figure::ComputeMs, (*run.accounting)[Account::Compute], "the accounts of a step");
    set(run, Figure::ExposedMs, exposed_ms(*run.accounting), "the accounts of a step");
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

// Of the job's GPUs while it was watched: their mean power for that time.
std::optional<double> gpu_energy_j(const RunData& data) {
  std::optional<double> sum;
  for (const NodeData& node : data.nodes) {
    for (const SeriesData* series : node.find(record::kGpuPower)) {
      if (const auto watts = mean_level(*series, node.span)) {
        sum = sum.value_or(0) + *watts * seconds(node.span.length_ns());
      }
    }
  }
  return sum;
}

// Packets of the job's connections, each way by the end that saw more.
std::optional<double> retransmits(const RunData& data) {
  std::optional<double> sum;
  for (const Connection& connection : data.connections) {
    for (std::size_t way = 0; way < 2; ++way) {
      std::optional<std::int64_t> most;
      for (const std::optional<FlowPlace>& place : connection.ends) {
        if (!place) continue;
        const record::Figure seen = data.flow(*place).totals.at(way).retransmitted_packets;
        if (seen.known()) most = std::max(most.value_or(0), seen.value());
      }
      sum = most ? sum.value_or(0) + static_cast<double>(*most) : sum;
    }
  }
  return sum;
}

// As the job's sockets saw it under load.
std::optional<double> median_rtt_ms(const RunData& data) {
  std::vector<double> samples;
  for (const Connection& connection : data.connections) {
    for (const std::optional<FlowPlace>& place : connection.ends) {
      if (!place) continue;
      for (const auto& sockets : data.flow(*place).sockets) {
        for (const record::SocketSample& sample : sockets) {
          if (const auto rtt_us = sample.rtt_us.value_or(0); rtt_us > 0) {
            samples.push_back(static_cast<double>(rtt_us) / 1000);
          }
        }
      }
    }
  }
  return math::median(samples);
}

// By the names that probes' documents have for them.
void take_paths(const RunData& data, ComparedRun& run) {
  set(run, *figure_of("retransmits"), retransmits(data), "packets of the job's connections");
  set(run, *figure_of("rtt_ms"), median_rtt_ms(data), "samples of the job's sockets");
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
    run.remarks.emplace_back("no steps are known");
  }
}

// Of the node that began first; empty where none says.
std::string date_of(const RunSummary& summary) {
  constexpr std::size_t kDateLength = 10;
  std::int64_t began_ns = 0;
  for (const NodeSummary& node : summary.nodes) {
    if (node.began_wall_ns != 0 && (began_ns == 0 || node.began_wall_ns < began_ns)) {
      began_ns = node.began_wall_ns;
    }
  }
  return began_ns == 0 ? std::string() : sys::rfc3339(began_ns).substr(0, kDateLength);
}

}  // namespace

ComparedRun figures_of(const RunParts& parts, const std::string& samples_label) {
  const auto& [summary, data, diagnosis] = parts;
  ComparedRun run{.command = summary.command,
                  .date = date_of(summary),
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
  set(run, Figure::EnergyJ, gpu_energy_j(data), "gpu.power_w");
  take_paths(data, run);
  run.step_ms = rows == nullptr ? std::vector<double>() : settled_step_ms(*rows);
  for (const NodeData& node : data.nodes) {
    run.hosts.push_back(
        {.host = node.name,
         .settings = std::make_shared<const host::Settings>(settings_of(node.facts))});
  }
  note(summary, run);
  return run;
}

}  // namespace chokepoint::analysis
