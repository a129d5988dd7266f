#include "analysis/compare/step_rows.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kWarmUp = 2;
constexpr std::size_t kFewRows = 5;  // too few to leave any out

std::int64_t times(const record::Step& row) { return std::max<std::int64_t>(row.merged, 1); }

}  // namespace

std::int64_t StepRows::count() const {
  std::int64_t count = 0;
  for (const record::Step* row : rows) {
    count += times(*row);
  }
  return count;
}

std::vector<StepRows> step_rows_of(const RunData& run) {
  std::vector<StepRows> all;
  for (const NodeData& node : run.nodes) {
    std::map<std::tuple<record::StepSource, std::int64_t>, StepRows> told;
    for (const record::Step& row : node.steps) {
      if (row.end_ns > row.start_ns) {
        const std::int64_t rank = row.rank.value_or(-1);
        StepRows& rows = told[{row.source, rank}];
        rows.rows.push_back(&row);
      }
    }
    for (auto& [key, rows] : told) {
      rows.node = node.name;
      std::tie(rows.source, rows.rank) = key;
      std::ranges::stable_sort(rows.rows, {}, &record::Step::start_ns);
      all.push_back(std::move(rows));
    }
  }
  return all;
}

const StepRows* main_rows(const std::vector<StepRows>& all) {
  const StepRows* best = nullptr;
  for (const StepRows& rows : all) {
    const bool is_better = best == nullptr || rows.source < best->source ||
                           (rows.source == best->source && rows.count() > best->count());
    best = is_better ? &rows : best;
  }
  return best;
}

double busy_ms(const record::Step& row) {
  return static_cast<double>(row.busy_ns.value_or(row.end_ns - row.start_ns)) / 1e6;
}

std::vector<double> settled_step_ms(const StepRows& rows) {
  const std::size_t skipped = rows.rows.size() > kWarmUp + kFewRows ? kWarmUp : 0;
  std::vector<double> durations;
  for (std::size_t at = skipped; at < rows.rows.size(); ++at) {
    durations.push_back(busy_ms(*rows.rows[at]) / static_cast<double>(times(*rows.rows[at])));
  }
  return durations;
}

}  // namespace chokepoint::analysis
