#include "analysis/load/sample_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "analysis/load/rough_clocks.h"
#include "analysis/load/table_places.h"
#include "analysis/load/windows.h"

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kSlackNs = 1'000'000'000;
constexpr std::size_t kMostWindows = 40;
constexpr std::int64_t kStepsInWindow = 4;
constexpr std::int64_t kShortestWindowNs = 1'000'000'000;

// From the first step to the last; all of the span where there are none.
Span span_of_steps(const NodeData& node) {
  Span span{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (const record::Step& step : node.steps) {
    span.start_ns = std::min(span.start_ns, step.start_ns);
    span.end_ns = std::max(span.end_ns, step.end_ns);
  }
  return node.steps.empty() || span.length_ns() <= 0 ? node.span : span;
}

std::int64_t median_step_ns(const NodeData& node) {
  std::vector<std::int64_t> lengths;
  for (const record::Step& step : node.steps) {
    lengths.push_back((step.end_ns - step.start_ns) / std::max<std::int64_t>(step.merged, 1));
  }
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::ranges::nth_element(lengths, middle);
  return lengths.empty() ? 0 : *middle;
}

// A node of which not all is read.
struct LargeNode {
  std::size_t index = 0;
  TablePlaces places;
  std::int64_t offset_ns = 0;  // its clock less the first node's
  double left = 0;             // rows that may still be read
};

class Planner {
 public:
  Planner(record::Run& run, const LoadLimits& limits, const std::vector<NodeData>& nodes)
      : nodes_(nodes), plans_(nodes.size()) {
    for (std::size_t index = 0; index < nodes.size(); ++index) {
      plans_[index].whole = with_slack(nodes[index].span);
      // Behind a cut no moment can be searched.
      if (!run.nodes[index].damage()) {
        look_at(run.nodes[index], index, static_cast<double>(limits.samples_of_node));
      }
    }
  }

  std::vector<SamplePlan> plan() {
    if (!large_.empty()) {
      const std::vector<std::int64_t> offsets = rough_offsets(nodes_);
      for (LargeNode& node : large_) {
        node.offset_ns = offsets[node.index];
        left_ += node.left;
      }
      place_windows();
    }
    return std::move(plans_);
  }

 private:
  using Rows = std::array<std::int64_t, kLargeTables>;

  void look_at(record::Reader& reader, std::size_t index, double most) {
    Result<TablePlaces> places = TablePlaces::open(reader);
    if (!places) {
      return;
    }
    Rows rows{};
    for (std::size_t table = 0; table < kLargeTables; ++table) {
      rows.at(table) = places->rows_before(table, plans_[index].whole.end_ns) -
                       places->rows_before(table, plans_[index].whole.start_ns);
    }
    if (static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::int64_t{0})) > most) {
      const double left = keep_small_tables(rows, most, plans_[index]);
      large_.push_back({.index = index, .places = std::move(*places), .left = left});
    }
  }

  // A table that needs less than its share of what may be read leaves the rest to the others. Gives
  // what is left for those that are not read whole.
  static double keep_small_tables(const Rows& rows, double left, SamplePlan& plan) {
    std::array<std::size_t, kLargeTables> order{};
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::size_t table) { return rows.at(table); });
    for (std::size_t index = 0; index < order.size(); ++index) {
      const auto needed = static_cast<double>(rows.at(order.at(index)));
      const bool fits = needed <= left / static_cast<double>(order.size() - index);
      plan.is_whole.at(order.at(index)) = fits;
      left -= fits ? needed : 0;
    }
    return left;
  }

  // Moments below are the first node's.
  double rows_until(std::int64_t t_ns) {
    std::int64_t rows = 0;
    for (LargeNode& node : large_) {
      for (std::size_t table = 0; table < kLargeTables; ++table) {
        rows += plans_[node.index].is_whole.at(table)
                    ? 0
                    : node.places.rows_before(table, t_ns + node.offset_ns);
      }
    }
    return static_cast<double>(rows);
  }

  void place_windows() {
    Span steps{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    std::int64_t detail = std::numeric_limits<std::int64_t>::min();
    for (LargeNode& node : large_) {
      const Span own = span_of_steps(nodes_[node.index]);
      steps = {std::min(steps.start_ns, own.start_ns - node.offset_ns),
               std::max(steps.end_ns, own.end_ns - node.offset_ns)};
      const std::optional<std::int64_t> own_detail = node.places.detail_from();
      detail = own_detail ? std::max(detail, *own_detail - node.offset_ns) : detail;
    }
    if (detail > steps.start_ns && detail < steps.end_ns) {
      place({.span = {steps.start_ns, detail},
             .rows = left_ / 2,
             .most = kMostWindows / 2,
             .to_end = false});
      place({.span = {detail, steps.end_ns},
             .rows = left_,
             .most = kMostWindows / 2,
             .from_start = false});
    } else {
      place({.span = steps, .rows = left_, .most = kMostWindows});
    }
  }

  void place(WindowsWanted wanted) {
    wanted.least_ns =
        std::max(kShortestWindowNs, kStepsInWindow * median_step_ns(nodes_[large_.front().index]));
    const auto rows = [this](std::int64_t t_ns) { return rows_until(t_ns); };
    for (const Span window : spread_windows(wanted, rows)) {
      left_ -= rows(window.end_ns) - rows(window.start_ns);
      for (const LargeNode& node : large_) {
        plans_[node.index].windows.push_back(
            {window.start_ns + node.offset_ns, window.end_ns + node.offset_ns});
      }
    }
    left_ = std::max(left_, 0.0);
  }

  const std::vector<NodeData>& nodes_;
  std::vector<SamplePlan> plans_;
  std::vector<LargeNode> large_;
  double left_ = 0;  // of all of these
};

}  // namespace

Span with_slack(Span session) {
  // A session whose end is unknown has the largest number for it, and more is added to it.
  constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() / 2;
  return {session.start_ns - kSlackNs, std::min(session.end_ns, kLatest) + kSlackNs};
}

std::vector<SamplePlan> plan_samples(record::Run& run, const LoadLimits& limits,
                                     const std::vector<NodeData>& nodes) {
  return Planner(run, limits, nodes).plan();
}

}  // namespace chokepoint::analysis
