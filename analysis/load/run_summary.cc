#include "analysis/load/run_summary.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "analysis/load/node_loader.h"
#include "analysis/load/run_data.h"
#include "base/json/codec.h"
#include "base/math/saturating.h"
#include "base/record/names.h"
#include "base/record/runs.h"
#include "base/sys/parallel.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;
using record::Figure;

constexpr double kNanosecondsPerSecond = 1e9;

std::optional<std::int64_t> optional_of(Figure figure) {
  return figure.known() ? std::optional(figure.value()) : std::nullopt;
}

void take_session(const record::Session& session, NodeSummary& node) {
  node.host = session.host;
  node.kernel = session.kernel;
  node.program = session.program;
  node.command = session.command;
  node.exit_status = optional_of(session.exit_status);
  node.duration_s =
      static_cast<double>(session.end_ns.value_or(session.seen_ns) - session.start_ns) /
      kNanosecondsPerSecond;
}

template <class Row>
void count_rows(record::Reader& reader, NodeSummary& node) {
  if (const Result<std::int64_t> count = reader.count<Row>(); count) {
    node.rows.emplace(Fields<Row>::kTable, *count);
  }
}

template <class... Rows>
void count_all(record::Reader& reader, NodeSummary& node, const std::variant<Rows...>* /*of*/) {
  (count_rows<Rows>(reader, node), ...);
}

std::int64_t size_of_files(const fs::path& path) {
  std::int64_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code missing;
    const std::uintmax_t size = fs::file_size(path.string() + suffix, missing);
    bytes += missing ? 0 : static_cast<std::int64_t>(size);
  }
  return bytes;
}

// A record that could not be read to its end is damaged.
void note(const Result<>& read, NodeSummary& node) {
  if (!read && !node.damage) {
    node.damage = read.error();
  }
}

// The last reading of each series, summed over those of a name.
class LastReadings {
 public:
  LastReadings(record::Reader& reader, NodeSummary& node) {
    if (auto series = reader.all<record::Series>()) {
      series_ = std::move(*series);
    }
    note(reader.each<record::CounterSample>(
             [this](const record::CounterSample& sample) { last_[sample.series] = sample.value; }),
         node);
  }

  std::optional<double> sum(std::string_view name) const {
    std::optional<double> sum;
    for (const record::Series& series : series_) {
      const auto last = last_.find(series.id);
      if (series.name == name && last != last_.end()) {
        sum = sum.value_or(0) + last->second;
      }
    }
    return sum;
  }

 private:
  std::vector<record::Series> series_;
  std::map<std::int64_t, double> last_;
};

void take_counters(record::Reader& reader, NodeSummary& node) {
  const LastReadings readings(reader, node);
  node.volume = {readings.sum(record::kJobSentBytes), readings.sum(record::kJobReceivedBytes)};
  const std::optional<double> cpu_ns = readings.sum(record::kOwnCpu);
  if (cpu_ns && node.duration_s.value_or(0) > 0) {
    node.overhead_percent = 100 * *cpu_ns / kNanosecondsPerSecond / *node.duration_s;
  }
}

// Of every flow that was counted to its end.
std::vector<FlowTraffic> traffic_in(record::Reader& reader) {
  const auto rows = reader.all<record::Flow>();
  const auto totals = reader.all<record::FlowTotal>();
  if (!rows || !totals) {
    return {};
  }
  std::map<std::int64_t, std::array<double, 2>> counted;
  for (const record::FlowTotal& total : *totals) {
    std::array<double, 2>& bytes = counted[total.flow];
    if (const auto side = static_cast<std::size_t>(total.direction); side < bytes.size()) {
      bytes.at(side) = static_cast<double>(total.bytes.value_or(0));
    }
  }
  std::vector<FlowTraffic> all;
  for (const record::Flow& row : *rows) {
    if (const auto bytes = counted.find(row.id); bytes != counted.end()) {
      all.push_back({.row = row, .bytes = bytes->second});
    }
  }
  return all;
}

void take_events(record::Reader& reader, NodeSummary& node) {
  auto events = reader.all<record::Event>();
  if (!events) {
    return;
  }
  for (const record::Event& event : *events) {
    node.dropped =
        math::saturated_sum(node.dropped, event.kind == record::kDropped ? dropped_rows(event) : 0);
  }
  node.events = std::move(*events);
}

std::string verdict_of(const record::Probe& probe) {
  const Bounds bounds{.longest = probe.document.size()};
  return json::field_in<std::string>(json::object_or_null(probe.document), "verdict", "probe",
                                     bounds)
      .value_or("");
}

void take_probes(record::Reader& reader, NodeSummary& node) {
  const auto probes = reader.all<record::Probe>();
  if (!probes) {
    return;
  }
  for (const record::Probe& probe : *probes) {
    node.probes.push_back({.kind = probe.kind,
                           .peer = probe.peer,
                           .direction = probe.direction,
                           .wall_ns = reader.wall_ns(probe.t_ns),
                           .verdict = verdict_of(probe)});
  }
}

void take_steps(record::Reader& reader, NodeSummary& node) {
  Steps& steps = node.steps;
  std::map<std::int64_t, std::int64_t> count_of_rank;
  const Result<> read = reader.each<record::Step>([&](const record::Step& step) {
    if (steps.source && *steps.source < step.source) {
      return;
    }
    if (steps.source != step.source) {
      steps = {.source = step.source};
      count_of_rank.clear();
    }
    const std::int64_t rows = std::max<std::int64_t>(step.merged, 1);
    std::int64_t& count = count_of_rank[step.rank.value_or(-1)];
    count = math::saturated_sum(count, rows);
  });
  note(read, node);
  for (const auto& [rank, count] : count_of_rank) {
    steps.count = std::max(steps.count, count);
  }
}

void take_ranks(record::Reader& reader, NodeSummary& node) {
  const auto processes = reader.all<record::Process>();
  if (!processes) {
    return;
  }
  std::set<std::int64_t> ranks;
  for (const record::Process& process : *processes) {
    if (process.rank.known()) {
      ranks.insert(process.rank.value());
    }
  }
  node.ranks = ranks.size();
}

NodeSummary summarize_node(record::Reader& reader, const SummaryOptions& options,
                           std::vector<FlowTraffic>& traffic) {
  NodeSummary node{.name = reader.node(), .file = reader.path().string()};
  node.damage = reader.damage();
  node.sessions = reader.sessions().size();
  node.began_wall_ns = reader.sessions().empty() ? 0 : reader.sessions().front().start_wall_ns;
  node.bytes = size_of_files(reader.path());
  if (const record::Session* session = main_session(reader.sessions())) {
    take_session(*session, node);
  }
  if (options.count_rows) {
    count_all(reader, node, static_cast<const record::Entity*>(nullptr));
    count_all(reader, node, static_cast<const record::Sample*>(nullptr));
  }
  take_counters(reader, node);
  traffic = traffic_in(reader);
  take_probes(reader, node);
  take_events(reader, node);
  take_steps(reader, node);
  take_ranks(reader, node);
  node.is_complete = !node.damage && node.sessions > 0 && reader.sessions().back().end_ns.known();
  if (!node.is_complete) {
    node.why_without_end = record::why_without_end(reader.path());
  }
  return node;
}

void add(std::optional<double>& sum, std::optional<double> value) {
  if (value) {
    sum = sum.value_or(0) + *value;
  }
}

void raise(std::optional<double>& most, std::optional<double> value) {
  if (value) {
    most = std::max(most.value_or(*value), *value);
  }
}

void join(RunSummary& run, const NodeSummary& node) {
  run.command = run.command.empty() ? node.command : run.command;
  if (node.exit_status && run.exit_status.value_or(0) == 0) {
    run.exit_status = node.exit_status;
  }
  add_purposes(run.purposes, node.purposes);
  raise(run.duration_s, node.duration_s);
  raise(run.overhead_percent, node.overhead_percent);
  add(run.volume.sent_bytes, node.volume.sent_bytes);
  add(run.volume.received_bytes, node.volume.received_bytes);
  run.dropped = math::saturated_sum(run.dropped, node.dropped);
}

// Where ranks are is known only once all nodes are read.
void take_purposes(record::Run& records, const std::vector<std::vector<FlowTraffic>>& traffic,
                   RunSummary& run) {
  RankPlaces ranks;
  for (std::size_t node = 0; node < traffic.size(); ++node) {
    for (const FlowTraffic& flow : traffic[node]) {
      ranks.add(flow.row);
    }
    if (const auto facts = records.nodes[node].all<record::Fact>()) {
      std::ranges::for_each(*facts, [&](const record::Fact& fact) { ranks.add(fact); });
    }
  }
  for (std::size_t node = 0; node < traffic.size(); ++node) {
    run.nodes[node].purposes = purposes_of(traffic[node], ranks, run.nodes[node].volume);
  }
}

}  // namespace

std::int64_t dropped_rows(const record::Event& event) {
  constexpr Bounds kSensible{.least = 0, .most = 1e15};
  return json::field_in<std::int64_t>(json::object_or_null(event.detail), "rows", "event",
                                      kSensible)
      .value_or(0);
}

std::optional<double> full_duplex_mbps(const Volume& volume, std::optional<double> duration_s) {
  if (!volume.sent_bytes || !volume.received_bytes || duration_s.value_or(0) <= 0) {
    return std::nullopt;
  }
  return (*volume.sent_bytes + *volume.received_bytes) * 8 / 1e6 / *duration_s;
}

std::optional<double> network_mbps(const RunSummary& run) {
  std::optional<double> most;
  for (const NodeSummary& node : run.nodes) {
    if (const auto mbps = full_duplex_mbps(node.volume, node.duration_s)) {
      most = std::max(most.value_or(*mbps), *mbps);
    }
  }
  return most;
}

RunSummary summarize(record::Run& run, const SummaryOptions& options) {
  RunSummary summary{.unreadable = run.unreadable};
  summary.nodes.resize(run.nodes.size());
  std::vector<std::vector<FlowTraffic>> traffic(run.nodes.size());
  sys::for_each_in_parallel("load", run.nodes.size(), [&](std::size_t node) {
    summary.nodes[node] = summarize_node(run.nodes[node], options, traffic[node]);
  });
  take_purposes(run, traffic, summary);
  for (std::size_t node = 0; node < run.nodes.size(); ++node) {
    if (const auto labels = run.nodes[node].all<record::Label>()) {
      for (const record::Label& label : *labels) {
        summary.labels[label.key] = label.value;
      }
    }
    join(summary, summary.nodes[node]);
  }
  return summary;
}

}  // namespace chokepoint::analysis
