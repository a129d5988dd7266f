#include "analysis/load/run_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analysis/load/captured_hosts.h"
#include "analysis/load/connections.h"
#include "analysis/load/node_loader.h"
#include "analysis/load/sample_plan.h"
#include "base/record/names.h"
#include "base/sys/parallel.h"

namespace chokepoint::analysis {
namespace {

using Lines = std::vector<std::string>;

std::string joined(const auto& words) {
  std::string text;
  for (const auto& word : words) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
  }
  return text;
}

template <class Samples>
bool has_any(const NodeData& node, Samples FlowData::* samples) {
  return std::ranges::any_of(node.flows, [&](const FlowData& flow) {
    return !(flow.*samples)[0].empty() || !(flow.*samples)[1].empty();
  });
}

void add_missing_records(const RunData& run, Lines& lines) {
  for (const Error& error : run.unreadable) {
    lines.push_back(fmt::format("a record cannot be read: {}", describe(error)));
  }
  for (const NodeData& node : run.nodes) {
    if (node.damage) {
      lines.push_back(fmt::format("the record of {} is cut short or damaged", node.name));
    } else if (!node.is_complete) {
      lines.push_back(
          fmt::format("the record of {} has no end: {}", node.name, node.why_without_end));
    }
  }
}

struct RanksSeen {
  std::map<std::int64_t, std::set<std::string>> nodes_of_rank = {};
  std::set<std::int64_t> sizes = {};
};

RanksSeen ranks_seen(const RunData& run) {
  RanksSeen seen;
  for (const NodeData& node : run.nodes) {
    for (const record::Process& process : node.processes) {
      if (process.rank.known()) {
        seen.nodes_of_rank[process.rank.value()].insert(node.name);
      }
      if (process.rank.known() && process.world_size.known()) {
        seen.sizes.insert(process.world_size.value());
      }
    }
  }
  return seen;
}

void add_missing_ranks(const RunData& run, Lines& lines) {
  if (const std::string absent = absent_ranks(run); !absent.empty()) {
    lines.push_back("no record of " + absent);
  }
  const RanksSeen seen = ranks_seen(run);
  if (seen.sizes.size() > 1) {
    lines.push_back(fmt::format("two jobs lie here, of {} processes: keep a folder for each",
                                joined(seen.sizes)));
    return;
  }
  for (const auto& [rank, nodes] : seen.nodes_of_rank) {
    if (nodes.size() > 1) {
      lines.push_back(
          fmt::format("two jobs lie here: rank {} is in the records of {}; keep a "
                      "folder for each",
                      rank, joined(nodes)));
      return;
    }
  }
}

std::size_t count_events(const NodeData& node, std::string_view kind) {
  return static_cast<std::size_t>(std::ranges::count(node.events, kind, &record::Event::kind));
}

void add_missing_samples(const NodeData& node, Lines& lines) {
  if (node.processes.empty() && !node.is_capture) {
    lines.push_back(fmt::format("no process of the job was seen on {}", node.name));
  }
  if (node.flows.empty()) {
    lines.push_back(fmt::format("no connection of the job was seen on {}", node.name));
  } else if (!has_any(node, &FlowData::packets)) {
    lines.push_back(fmt::format("no packets were captured on {}", node.name));
  } else if (count_events(node, record::kPacketsDropped) > 0) {
    lines.push_back(fmt::format("not all packets were seen on {}", node.name));
  }
  if (!node.flows.empty() && !node.is_capture && !has_any(node, &FlowData::sockets)) {
    lines.push_back(fmt::format("no sockets were read on {}", node.name));
  }
  if (count_events(node, record::kDropped) > 0) {
    lines.push_back(
        fmt::format("some of what was measured on {} did not reach its record", node.name));
  }
  if (node.steps.empty()) {
    lines.push_back(fmt::format("no steps were found on {}", node.name));
  }
}

// What a record of 'run' would have had.
void add_missing_of_captures(const RunData& run, Lines& lines) {
  std::vector<std::string> captured;
  std::vector<std::string> inferred;
  for (const NodeData& node : run.nodes) {
    if (node.is_capture && !node.processes.empty()) {
      (node.is_inferred ? inferred : captured).push_back(node.name);
    }
  }
  if (captured.empty()) {
    return;
  }
  if (!inferred.empty()) {
    lines.push_back(
        fmt::format("no capture at {}: what arrives there was not seen", joined(inferred)));
  }
  lines.push_back(fmt::format(
      "of {} there are packets alone: 'chokepoint run' would have recorded sockets, processors, "
      "storage, GPUs and the job's own steps",
      joined(captured)));
  lines.emplace_back(
      "ranks are counted in the order of addresses, and several of a host as one: packets do not "
      "show the job's own");
}

std::vector<std::string> missing_of(const RunData& run) {
  Lines lines;
  add_missing_records(run, lines);
  add_missing_ranks(run, lines);
  for (const NodeData& node : run.nodes) {
    if (!node.is_inferred) {
      add_missing_samples(node, lines);
    }
  }
  add_missing_of_captures(run, lines);
  return lines;
}

using Readings = std::vector<Reading>;

// Of a counter between its rows; docs/internals/run-counters.md has the rules.
double value_at(const Readings& readings, std::int64_t t_ns) {
  const auto next = std::ranges::lower_bound(readings, t_ns, {}, &Reading::t_ns);
  if (next == readings.begin()) {
    return next->value;
  }
  const Reading& before = *std::prev(next);
  if (next == readings.end()) {
    return before.value;
  }
  const double part =
      static_cast<double>(t_ns - before.t_ns) / static_cast<double>(next->t_ns - before.t_ns);
  return before.value + part * (next->value - before.value);
}

// What one reading of a gauge shows of a span: its mean and its peak, over a part of it.
struct LevelPiece {
  Span span = {};
  double value = 0;
  double peak = 0;
};

// A level holds until the next reading; a share counts only for its own bin.
bool is_level(const Readings& readings) {
  return std::ranges::any_of(readings, [](const Reading& reading) { return reading.bin_ns == 0; });
}

template <class F>
void each_piece(const SeriesData& series, Span span, F&& visit) {
  const Readings& readings = series.readings;
  const bool holds = is_level(readings);
  const auto first = std::ranges::lower_bound(readings, span.start_ns, {}, &Reading::t_ns);
  // A level from before the span may hold into it.
  auto reading = holds && first != readings.begin() ? std::prev(first) : first;
  for (; reading != readings.end() && reading->t_ns - reading->bin_ns <= span.end_ns; ++reading) {
    const auto next = std::next(reading);
    const std::int64_t until = !holds                   ? reading->t_ns
                               : next == readings.end() ? std::max(span.end_ns, reading->t_ns)
                                                        : next->t_ns - next->bin_ns;
    const Span part{std::max(span.start_ns, reading->t_ns - reading->bin_ns),
                    std::min(span.end_ns, until)};
    if (part.start_ns <= part.end_ns) {
      visit(LevelPiece{part, reading->value, std::max(reading->value, reading->peak)});
    }
  }
}

constexpr std::array<std::string_view, 2> kSeriesKinds{"counter", "gauge"};
constexpr std::array<std::string_view, 4> kCollectiveSources{"", "gloo", "nccl", "traffic"};
constexpr std::array<std::string_view, 8> kAlgorithms{
    "unknown", "tree", "ring", "collnet-direct", "collnet-chain", "nvls", "nvls-tree", "pat"};
constexpr std::array<std::string_view, 4> kProtocols{"unknown", "ll", "ll128", "simple"};

template <class Code>
std::string_view word_among(std::span<const std::string_view> words, Code code) {
  const auto place = static_cast<std::size_t>(code);
  return place < words.size() ? words[place] : std::string_view();
}

template <Named Code>
std::string_view known_name(Code code) {
  const auto& names = EnumNames<Code>::kNames;
  const auto found = std::ranges::find(names, code, &EnumName<Code>::first);
  return found == names.end() ? std::string_view() : found->second;
}

}  // namespace

const SeriesData* NodeData::find(std::string_view series_name, std::string_view subject) const {
  const auto found = std::ranges::find_if(series, [&](const SeriesData& each) {
    return each.row.name == series_name && each.row.subject == subject;
  });
  return found == series.end() ? nullptr : &*found;
}

std::vector<const SeriesData*> NodeData::find(std::string_view series_name) const {
  std::vector<const SeriesData*> found;
  for (const SeriesData& each : series) {
    if (each.row.name == series_name) {
      found.push_back(&each);
    }
  }
  return found;
}

bool NodeData::has_collectives_of(record::CollectiveSource source) const {
  return std::ranges::find(collectives, source, &record::Collective::source) != collectives.end();
}

const Interface* NodeData::interface(std::string_view interface_name) const {
  const auto found = std::ranges::find(interfaces, interface_name, &Interface::name);
  return found == interfaces.end() ? nullptr : &*found;
}

std::optional<std::int64_t> NodeData::rank() const {
  std::optional<std::int64_t> only;
  for (const record::Process& process : processes) {
    if (!process.rank.known() || process.rank.value() == only) {
      continue;
    }
    if (only) {
      return std::nullopt;
    }
    only = process.rank.value();
  }
  return only;
}

std::string absent_ranks(const RunData& run) {
  constexpr std::size_t kMaxNamed = 16;
  const RanksSeen seen = ranks_seen(run);
  const std::int64_t ranks = seen.sizes.empty() ? 0 : *seen.sizes.rbegin();
  std::vector<std::int64_t> absent;
  for (std::int64_t rank = 0; rank < ranks && absent.size() <= kMaxNamed; ++rank) {
    if (!seen.nodes_of_rank.contains(rank)) {
      absent.push_back(rank);
    }
  }
  if (absent.empty()) {
    return "";
  }
  const bool are_many = absent.size() > kMaxNamed;
  absent.resize(std::min(kMaxNamed, absent.size()));
  return fmt::format("rank {}{} of {}", joined(absent), are_many ? " …" : "", ranks);
}

RunData load_run(record::Run& run, const LoadLimits& limits) {
  RunData data{.unreadable = run.unreadable};
  data.nodes.resize(run.nodes.size());
  // The rows must not change between the plan and the reading.
  std::vector<Result<record::Snapshot>> still;
  for (record::Reader& reader : run.nodes) {
    still.push_back(reader.snapshot());
  }
  sys::for_each_in_parallel("load", run.nodes.size(), [&](std::size_t node) {
    data.nodes[node] = load_node(run.nodes[node]);
  });
  const std::vector<SamplePlan> plans = plan_samples(run, limits, data.nodes);
  sys::for_each_in_parallel("load", run.nodes.size(), [&](std::size_t node) {
    load_samples(run.nodes[node], plans[node], data.nodes[node]);
  });
  separate_captured_hosts(data);
  join_connections(data);
  std::ranges::move(missing_of(data), std::back_inserter(data.missing));
  return data;
}

std::optional<double> growth(const SeriesData& series, Span span) {
  if (series.readings.empty()) {
    return std::nullopt;
  }
  return value_at(series.readings, span.end_ns) - value_at(series.readings, span.start_ns);
}

double core_wait_share(const NodeData& node) {
  const SeriesData* waited = node.find(record::kPressureSome, "cpu");
  if (waited == nullptr || waited->readings.size() < 2) {
    return 0;
  }
  const Reading& first = waited->readings.front();
  const Reading& last = waited->readings.back();
  return last.t_ns > first.t_ns
             ? (last.value - first.value) / static_cast<double>(last.t_ns - first.t_ns)
             : 0;
}

std::optional<double> mean_level(const SeriesData& series, Span span) {
  double weighed = 0;
  double length = 0;
  std::optional<double> last;  // where the span or its pieces have no length
  each_piece(series, span, [&](const LevelPiece& piece) {
    const auto weight = static_cast<double>(piece.span.length_ns());
    weighed += weight * piece.value;
    length += weight;
    last = piece.value;
  });
  return length > 0 ? std::optional(weighed / length) : last;
}

std::optional<double> most_level(const SeriesData& series, Span span) {
  std::optional<double> most;
  std::optional<double> touching;  // of pieces that only share a border with the span
  each_piece(series, span, [&](const LevelPiece& piece) {
    std::optional<double>& sum = piece.span.length_ns() > 0 ? most : touching;
    sum = sum ? std::max(*sum, piece.peak) : piece.peak;
  });
  return most ? most : touching;
}

std::string_view word_of(record::Direction direction) { return known_name(direction); }
std::string_view word_of(record::SeriesKind kind) { return word_among(kSeriesKinds, kind); }
std::string_view word_of(record::StepSource source) { return known_name(source); }
std::string_view word_of(record::CollectiveKind kind) {
  return word_among(record::kCollectiveKinds, kind);
}
std::string_view word_of(record::CollectiveSource source) {
  return word_among(kCollectiveSources, source);
}

std::string_view word_of(record::CollectiveAlgorithm algorithm) {
  return word_among(kAlgorithms, algorithm);
}
std::string_view word_of(record::CollectiveProtocol protocol) {
  return word_among(kProtocols, protocol);
}

}  // namespace chokepoint::analysis
