#include "analysis/load/node_summary.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "analysis/load/main_session.h"
#include "base/record/names.h"

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
    node.rows.emplace_back(record::Table<Row>::kName, *count);
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

// What could not be read to its end is damaged, whatever else was found.
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

std::int64_t dropped_rows(const record::Event& event) {
  const auto detail = nlohmann::json::parse(event.detail, nullptr, false);
  const auto rows = detail.find("rows");
  return rows != detail.end() && rows->is_number_integer() ? rows->get<std::int64_t>() : 0;
}

void take_events(record::Reader& reader, NodeSummary& node) {
  auto events = reader.all<record::Event>();
  if (!events) {
    return;
  }
  for (const record::Event& event : *events) {
    node.dropped += event.kind == record::kDropped ? dropped_rows(event) : 0;
  }
  node.events = std::move(*events);
}

std::string verdict_of(const record::Probe& probe) {
  const auto document = nlohmann::json::parse(probe.document, nullptr, false);
  const auto verdict = document.find("verdict");
  return verdict != document.end() && verdict->is_string() ? verdict->get<std::string>() : "";
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
    const auto merged = static_cast<double>(rows);
    const auto busy_ns = static_cast<double>(step.busy_ns.value_or(step.end_ns - step.start_ns));
    steps.weighed_ms.emplace_back(busy_ns / merged / 1e6, merged);
    count_of_rank[step.rank.value_or(-1)] += rows;
  });
  note(read, node);
  for (const auto& [rank, count] : count_of_rank) {
    steps.count = std::max(steps.count, count);
  }
}

}  // namespace

NodeSummary summarize_node(record::Reader& reader, const SummaryOptions& options) {
  NodeSummary node{.name = reader.node(), .file = reader.path().string()};
  node.damage = reader.damage();
  node.sessions = reader.sessions().size();
  node.bytes = size_of_files(reader.path());
  if (const record::Session* session = main_session(reader.sessions())) {
    take_session(*session, node);
  }
  if (options.count_rows) {
    count_all(reader, node, static_cast<const record::Entity*>(nullptr));
    count_all(reader, node, static_cast<const record::Sample*>(nullptr));
  }
  take_counters(reader, node);
  take_probes(reader, node);
  take_events(reader, node);
  take_steps(reader, node);
  node.is_complete = !node.damage && node.sessions > 0 && reader.sessions().back().end_ns.known();
  return node;
}

}  // namespace chokepoint::analysis
