#include "analysis/phases/step_bytes.h"

#include <algorithm>
#include <utility>

#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

struct Moved {
  Span span = {};
  double bytes = 0;
};

double bytes_of(const NodeData& node) {
  return math::sum_by(node.collectives,
                      [](const record::Collective& row) { return row.bytes.value_or(0); });
}

// Of the ranks of the node that has most: all of a run have about as much.
std::vector<Moved> by_messages(const RunData& run, const Clocks& clocks) {
  std::vector<Moved> moved;
  const NodeData* const most = math::most_by(run.nodes, bytes_of);
  if (most == nullptr || bytes_of(*most) <= 0) {
    return moved;
  }
  const auto place = static_cast<std::size_t>(most - run.nodes.data());
  for (const record::Collective& row : most->collectives) {
    const std::int64_t start_ns = row.first_data_ns.value_or(row.start_ns);
    moved.push_back({.span = {clocks.common_ns(place, start_ns),
                              clocks.common_ns(place, std::max(start_ns, row.end_ns))},
                     .bytes = static_cast<double>(row.bytes.value_or(0))});
  }
  return moved;
}

std::vector<Moved> by_packets(const RunData& run, const Clocks& clocks) {
  std::vector<Moved> moved;
  const auto is_a_node = [&](const std::string& name) {
    return std::ranges::count(run.nodes, name, &NodeData::name) > 0;
  };
  for (const Connection& connection : run.exchanging()) {
    const auto& end = connection.ends[0] ? connection.ends[0] : connection.ends[1];
    if (!end || !is_a_node(connection.names[0]) || !is_a_node(connection.names[1])) {
      continue;
    }
    for (const auto& samples : run.flow(*end).packets) {
      for (const record::FlowSample& sample : samples) {
        const std::int64_t start_ns = clocks.common_ns(end->node, sample.t_ns);
        moved.push_back({.span = {start_ns, start_ns + sample.bin_ns},
                         .bytes = static_cast<double>(sample.payload_bytes.value_or(0))});
      }
    }
  }
  return moved;
}

// How much was moved until a moment; each part at an even rate.
class MovedUntil {
 public:
  explicit MovedUntil(std::span<const Moved> all) {
    std::vector<std::pair<std::int64_t, double>> changes;  // of the rate
    for (const Moved& moved : all) {
      const std::int64_t end_ns = std::max(moved.span.end_ns, moved.span.start_ns + 1);
      const double rate = moved.bytes / static_cast<double>(end_ns - moved.span.start_ns);
      changes.emplace_back(moved.span.start_ns, rate);
      changes.emplace_back(end_ns, -rate);
    }
    std::ranges::sort(changes);
    for (const auto& [t_ns, rate] : changes) {
      const Moment before = moments_.empty() ? Moment{.t_ns = t_ns} : moments_.back();
      moments_.push_back(
          {.t_ns = t_ns, .bytes = before.bytes_at(t_ns), .rate = before.rate + rate});
    }
  }

  double at(std::int64_t t_ns) const {
    const auto after = std::ranges::upper_bound(moments_, t_ns, {}, &Moment::t_ns);
    return after == moments_.begin() ? 0 : std::prev(after)->bytes_at(t_ns);
  }

 private:
  struct Moment {
    std::int64_t t_ns = 0;
    double bytes = 0;  // until then
    double rate = 0;   // from then on, bytes a nanosecond
    double bytes_at(std::int64_t later_ns) const {
      return bytes + rate * static_cast<double>(later_ns - t_ns);
    }
  };
  std::vector<Moment> moments_;
};

void note_unread(const RunData& run, const Clocks& clocks, std::span<StepUnit> units) {
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const Spans windows = read_windows(run, clocks, place);
    if (windows.empty()) {
      continue;
    }
    for (StepUnit& unit : units) {
      unit.is_read = unit.is_read && covered_ns(windows, unit.span) == unit.span.length_ns();
    }
  }
}

}  // namespace

Spans read_windows(const RunData& run, const Clocks& clocks, std::size_t node) {
  Spans windows;
  for (const Span& window : run.nodes[node].windows) {
    windows.push_back(
        {clocks.common_ns(node, window.start_ns), clocks.common_ns(node, window.end_ns)});
  }
  return united(std::move(windows));
}

void fill_in_bytes(const RunData& run, const Clocks& clocks, std::span<StepUnit> units) {
  std::vector<Moved> moved = by_messages(run, clocks);
  if (moved.empty()) {
    moved = by_packets(run, clocks);
  }
  const MovedUntil until(moved);
  for (StepUnit& unit : units) {
    unit.bytes = std::max(0.0, until.at(unit.span.end_ns) - until.at(unit.span.start_ns));
  }
  note_unread(run, clocks, units);
}

}  // namespace chokepoint::analysis
