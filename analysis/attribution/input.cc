#include "analysis/attribution/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/hosts.h"
#include "analysis/attribution/storage.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

// Share of a rank's lateness that waiting for input must explain.
constexpr double kMinInputOfLateness = 0.5;
constexpr double kMinCoreWaitOfLoaders = 0.1;  // of the time, in which some task waited for a core

// By mount point; "?" where it was not seen which.
using ByMount = std::map<std::string, double>;

double sum_of(const ByMount& figures) {
  double sum = 0;
  for (const auto& [mount, figure] : figures) {
    sum += figure;
  }
  return sum;
}

std::string most_of(const ByMount& figures) {
  const auto most =
      std::ranges::max_element(figures, {}, [](const auto& entry) { return entry.second; });
  return most == figures.end() ? "" : most->first;
}

// Of one rank, milliseconds a step; of its loaders, percent of them while it waited for a batch.
struct RankWaits {
  std::string process = {};
  std::size_t node = 0;
  std::int64_t rank = -1;  // -1: not known
  double batch_ms = 0;
  ByMount read_ms = {};
  ByMount write_ms = {};
  double loaders_running = 0;
  double loaders_remote = 0;
  ByMount loaders_waiting = {};
  double loaders = 0;

  double input_ms() const { return batch_ms + sum_of(read_ms); }
  double storage_ms() const { return sum_of(write_ms); }
};

// Of a share of the time, what it comes to within spans, in nanoseconds. Spans by the node's clock.
double within_ns(const SeriesData& series, std::span<const Span> spans) {
  double sum_ns = 0;
  for (const Reading& reading : series.readings) {
    const Span span{reading.t_ns - reading.bin_ns, reading.t_ns};
    sum_ns += reading.value / 100 * static_cast<double>(covered_ns(touching(spans, span), span));
  }
  return sum_ns;
}

Spans without(const Spans& spans, const Spans& holes) {
  Spans left;
  for (Span span : spans) {
    for (const Span& hole : touching(holes, span)) {
      left.push_back({span.start_ns, std::min(hole.start_ns, span.end_ns)});
      span.start_ns = std::max(span.start_ns, hole.end_ns);
    }
    left.push_back(span);
  }
  return united(std::move(left));
}

// Outside of exchanges and of waiting for other ranks, by the node's clock.
Spans own_time(const DiagnosisInput& input, std::size_t node, std::int64_t rank) {
  Spans taken = input.phases.communicating;
  for (const Late& late : input.phases.late) {
    if (late.node != node || (rank >= 0 && late.rank >= 0 && late.rank != rank)) {
      taken.push_back(late.waited);
    }
  }
  Spans own = without(united(input.steps.settled), united(std::move(taken)));
  for (Span& span : own) {
    span = {input.clocks.local_ns(node, span.start_ns), input.clocks.local_ns(node, span.end_ns)};
  }
  return own;
}

// "4711 /data": the process, and the mount behind it.
struct Subject {
  std::string process = {};
  std::string mount = {};
};

Subject subject_of(const SeriesData& series) {
  const std::string& text = series.row.subject;
  const std::size_t space = text.find(' ');
  return space == std::string::npos ? Subject{.process = text}
                                    : Subject{text.substr(0, space), text.substr(space + 1)};
}

std::int64_t rank_of(const NodeData& node, const std::string& process) {
  for (const record::Process& each : node.processes) {
    if (std::to_string(each.pid) == process && each.rank.known()) {
      return each.rank.value();
    }
  }
  return node.rank().value_or(-1);
}

class NodeWaits {
 public:
  NodeWaits(const DiagnosisInput& input, std::size_t place)
      : input_(input), node_(input.run.nodes[place]), place_(place) {
    const auto steps = static_cast<double>(input.steps.settled.size());
    each(record::kInputWaiting, [&](RankWaits& waits, const Spans& own, const SeriesData& series) {
      waits.batch_ms += within_ns(series, own) / 1e6 / steps;
    });
    each(record::kInputReading, [&](RankWaits& waits, const Spans& own, const SeriesData& series) {
      waits.read_ms[subject_of(series).mount] += within_ns(series, own) / 1e6 / steps;
    });
    each(record::kInputWriting, [&](RankWaits& waits, const Spans& own, const SeriesData& series) {
      waits.write_ms[subject_of(series).mount] += within_ns(series, own) / 1e6 / steps;
    });
    each(record::kLoadersRunning,
         [&](RankWaits& waits, const Spans& own, const SeriesData& series) {
           waits.loaders_running += within_ns(series, own) / 1e6 / steps;
         });
    each(record::kLoadersRemote, [&](RankWaits& waits, const Spans& own, const SeriesData& series) {
      waits.loaders_remote += within_ns(series, own) / 1e6 / steps;
    });
    each(record::kLoadersWaiting,
         [&](RankWaits& waits, const Spans& own, const SeriesData& series) {
           waits.loaders_waiting[subject_of(series).mount] += within_ns(series, own) / 1e6 / steps;
         });
    each(record::kLoaders, [&](RankWaits& waits, const Spans&, const SeriesData& series) {
      waits.loaders = mean_level(series, input.span_of(place)).value_or(0);
    });
  }

  std::vector<RankWaits> take() {
    std::vector<RankWaits> all;
    for (auto& [process, waits] : by_process_) {
      all.push_back(std::move(waits));
    }
    return all;
  }

 private:
  template <class F>
  void each(std::string_view name, F&& add) {
    for (const SeriesData* series : node_.find(name)) {
      const std::string process = subject_of(*series).process;
      const auto [found, is_new] = by_process_.try_emplace(process);
      RankWaits& waits = found->second;
      if (is_new) {
        waits.process = process;
        waits.node = place_;
        waits.rank = rank_of(node_, process);
        own_[process] = own_time(input_, place_, waits.rank);
      }
      add(waits, own_[process], *series);
    }
  }

  const DiagnosisInput& input_;
  const NodeData& node_;
  std::size_t place_;
  std::map<std::string, RankWaits> by_process_;
  std::map<std::string, Spans> own_;
};

// A thread may also sleep until its GPU has computed: no rank waits for a batch for longer than the
// busiest GPU of its host had nothing to do. Milliseconds a step.
double most_waited_ms(const DiagnosisInput& input, std::size_t place) {
  const NodeData& node = input.run.nodes[place];
  const Span span = input.span_of(place);
  double busiest_percent = 0;
  for (const std::string& gpu : job_gpus(node, span)) {
    busiest_percent = std::max(busiest_percent, kernels_percent_of(node, gpu, span));
  }
  return input.phases.step_ms * std::max(0.0, 1 - busiest_percent / 100);
}

std::vector<RankWaits> rank_waits(const DiagnosisInput& input) {
  std::vector<RankWaits> all;
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    const double most_ms = most_waited_ms(input, place);
    for (RankWaits& waits : NodeWaits(input, place).take()) {
      waits.batch_ms = std::min(waits.batch_ms, most_ms);
      all.push_back(std::move(waits));
    }
  }
  return all;
}

std::string type_of(const NodeData& node, const std::string& mount) {
  return fact_text(node, "mount", mount, "type");
}

bool is_remote(const NodeData& node, const std::string& mount) {
  return fact_text(node, "mount", mount, "is_remote") == "true";
}

// "/data (nfs4, server:/export)"
std::string name_of(const NodeData& node, const std::string& mount) {
  const std::string type = type_of(node, mount);
  const std::string source = fact_text(node, "mount", mount, "source");
  if (mount == "?" || mount.empty()) {
    return "a file system";
  }
  return type.empty() ? mount : fmt::format("{} ({}, {})", mount, type, source);
}

std::string mount_read(const RankWaits& waits) {
  return sum_of(waits.read_ms) >= waits.batch_ms ? most_of(waits.read_ms)
                                                 : most_of(waits.loaders_waiting);
}

bool is_by_files(const RankWaits& waits) {
  return sum_of(waits.read_ms) >= waits.batch_ms ||
         (sum_of(waits.loaders_waiting) >= waits.loaders_running &&
          sum_of(waits.loaders_waiting) >= waits.loaders_remote);
}

// Loaders that wait for files would be no faster with more processors, and the other way round.
Cause cause_of_input(const DiagnosisInput& input, const RankWaits& waits) {
  const NodeData& node = input.run.nodes[waits.node];
  if (is_by_files(waits) && is_read_again(input, waits.node, mount_read(waits))) {
    return Cause::PageCache;
  }
  if (is_by_files(waits)) {
    return is_remote(node, mount_read(waits)) ? Cause::RemoteFileSystem : Cause::StorageRead;
  }
  if (waits.loaders_remote > waits.loaders_running) {
    return Cause::LoaderRemote;
  }
  return core_wait_share(node) > kMinCoreWaitOfLoaders ? Cause::LoaderProcessor
                                                       : Cause::LoaderCount;
}

void add_input_evidence(const DiagnosisInput& input, const RankWaits& waits,
                        std::vector<Evidence>& evidence) {
  const NodeData& node = input.run.nodes[waits.node];
  const auto add = [&](std::string what, double value, const char* unit, std::string_view series) {
    if (value > 0) {
      evidence.push_back(
          {std::move(what), value, unit, fmt::format("{} of {}", series, node.name)});
    }
  };
  add("waited for its next batch", waits.batch_ms, "ms a step", record::kInputWaiting);
  const std::string mount = most_of(waits.read_ms);
  add("its first thread waited to read from " + name_of(node, mount), sum_of(waits.read_ms),
      "ms a step", record::kInputReading);
  add("loader processes", waits.loaders, "", record::kLoaders);
  const double at_work =
      waits.loaders_running + waits.loaders_remote + sum_of(waits.loaders_waiting);
  if (at_work > 0) {
    add("of their work, on a processor", 100 * waits.loaders_running / at_work, "%",
        record::kLoadersRunning);
    add("of their work, waiting for a socket or a timer", 100 * waits.loaders_remote / at_work, "%",
        record::kLoadersRemote);
    add("of their work, waiting for " + name_of(node, most_of(waits.loaders_waiting)),
        100 * sum_of(waits.loaders_waiting) / at_work, "%", record::kLoadersWaiting);
  }
  if (is_by_files(waits)) {
    add_reading(input, waits.node, mount_read(waits), evidence);
  }
}

void add_storage_evidence(const DiagnosisInput& input, const RankWaits& waits,
                          std::vector<Evidence>& evidence) {
  const NodeData& node = input.run.nodes[waits.node];
  const std::string mount = most_of(waits.write_ms);
  evidence.push_back({"its first thread waited to write to " + name_of(node, mount),
                      waits.storage_ms(), "ms a step",
                      fmt::format("{} of {}", record::kInputWriting, node.name)});
  add_writing(input, waits.node, mount,
              node.find(record::kInputWriting, waits.process + " " + mount), evidence);
}

Where where_of(const DiagnosisInput& input, const RankWaits& waits, const std::string& mount) {
  return {.node = input.run.nodes[waits.node].name,
          .rank = waits.rank >= 0 ? std::optional(waits.rank) : std::nullopt,
          .mount = mount == "?" ? "" : mount};
}

}  // namespace

bool explain_by_input(const DiagnosisInput& input, std::size_t node, std::int64_t rank,
                      bool is_periodic, Verdict& verdict) {
  const std::vector<RankWaits> all = rank_waits(input);
  const auto own = std::ranges::find_if(all, [&](const RankWaits& each) {
    return each.node == node && (rank < 0 || each.rank < 0 || each.rank == rank);
  });
  if (own == all.end()) {
    return false;
  }
  const double needed_ms = kMinInputOfLateness * verdict.lost_ms_per_step;
  if (own->storage_ms() >= needed_ms && own->storage_ms() >= own->input_ms()) {
    verdict.verdict = VerdictClass::Storage;
    verdict.cause = is_periodic ? Cause::Checkpoint : Cause::Log;
    verdict.where.mount = where_of(input, *own, most_of(own->write_ms)).mount;
    add_storage_evidence(input, *own, verdict.evidence);
    return true;
  }
  if (own->input_ms() >= needed_ms) {
    verdict.cause = Cause::Input;
    verdict.where.mount = where_of(input, *own, mount_read(*own)).mount;
    add_input_evidence(input, *own, verdict.evidence);
    return true;
  }
  return false;
}

void add_input(const DiagnosisInput& input, Findings& findings) {
  const std::vector<RankWaits> all = rank_waits(input);
  // Of a host whose ranks were not seen to wait, none did.
  std::vector<bool> is_seen(input.run.nodes.size(), false);
  for (const RankWaits& each : all) {
    is_seen[each.node] = true;
  }
  if (all.empty() || std::ranges::count(is_seen, false) > 0) {
    return;
  }
  const auto add = [&](VerdictClass verdict, Account account, Cause cause, const RankWaits& least,
                       double ms, const std::string& mount, std::vector<Evidence> evidence) {
    const double most_ms = input.phases.computing_ms - findings.of_computing_ms;
    const double taken_ms = std::clamp(ms, 0.0, std::max(0.0, most_ms));
    if (taken_ms <= 0) {
      return;
    }
    findings.of_computing_ms += taken_ms;
    findings.accounting[account] += taken_ms;
    findings.verdicts.push_back({.verdict = verdict,
                                 .cause = cause,
                                 .where = where_of(input, least, mount),
                                 .lost_ms_per_step = taken_ms,
                                 .evidence = std::move(evidence)});
  };
  const RankWaits& input_of = *std::ranges::min_element(all, {}, &RankWaits::input_ms);
  std::vector<Evidence> evidence;
  add_input_evidence(input, input_of, evidence);
  add(VerdictClass::Input, Account::Input, cause_of_input(input, input_of), input_of,
      input_of.input_ms(), mount_read(input_of), std::move(evidence));
  const RankWaits& storage_of = *std::ranges::min_element(all, {}, &RankWaits::storage_ms);
  if (storage_of.storage_ms() > 0) {
    std::vector<Evidence> written;
    add_storage_evidence(input, storage_of, written);
    add(VerdictClass::Storage, Account::Storage, Cause::None, storage_of, storage_of.storage_ms(),
        most_of(storage_of.write_ms), std::move(written));
  }
}

}  // namespace chokepoint::analysis
