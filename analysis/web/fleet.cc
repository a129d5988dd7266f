#include "analysis/web/fleet.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/math/statistics.h"
#include "base/math/units.h"
#include "base/trends/finding_text.h"

namespace chokepoint::analysis::web {
namespace {

using history::SubjectKind;

// Hosts are first, and what is on no host has a row of its own.
using RowKey = std::tuple<bool, std::string, SubjectKind>;
using ColumnKey = std::pair<std::string, std::string>;

RowKey row_of(const history::Subject& subject) {
  return subject.host.empty() ? RowKey{true, history::text_of(subject), subject.kind}
                              : RowKey{false, subject.host, SubjectKind::Host};
}

ColumnKey column_of(const history::Series& series) { return {series.metric, series.setting}; }

struct Gathered {
  std::vector<double> newest = {};
  std::int64_t at_ns = 0;
  Cell cell = {};
};

struct GatheredColumn {
  const history::Series* series = nullptr;
  std::size_t rows = 0;
  std::int64_t at_ns = 0;
};

class FleetMap {
 public:
  explicit FleetMap(const FleetInput& input) : input_(input) {
    std::ranges::for_each(input.series, [this](const auto& each) { gather(each); });
    for (auto& [row, cells] : rows_) {
      for (auto& [column, gathered] : cells) {
        finish(gathered);
        GatheredColumn& known = columns_[column];
        ++known.rows;
        known.at_ns = std::max(known.at_ns, gathered.at_ns);
      }
    }
    for (const trends::HistoryFinding& finding : input.findings) {
      std::ranges::for_each(finding.changes, [this](const auto& each) { mark(each); });
    }
    std::ranges::for_each(input.hosts, [this](const auto& each) { mark(each); });
  }

  void add_to(Fleet& fleet) {
    const std::vector<ColumnKey> shown = shown_columns();
    fleet.left_out = columns_.size() - shown.size();
    std::map<ColumnKey, std::size_t> places;
    for (const ColumnKey& key : shown) {
      const history::Series& series = *columns_.at(key).series;
      places[key] = fleet.columns.size();
      fleet.columns.push_back({.metric = series.metric,
                               .title = trends::metric_name(series.metric),
                               .setting = series.setting,
                               .unit = series.unit,
                               .better = series.better});
    }
    for (auto& [key, cells] : rows_) {
      if (fleet.subjects.size() == kMaxFleetRows) {
        fleet.left_out += rows_.size() - kMaxFleetRows;
        break;
      }
      fleet.subjects.push_back(
          {.subject = std::get<1>(key), .kind = history::name_of(std::get<2>(key))});
      for (auto& [column, gathered] : cells) {
        if (const auto place = places.find(column); place != places.end()) {
          gathered.cell.column = place->second;
          fleet.subjects.back().cells.push_back(gathered.cell);
        }
      }
      std::ranges::sort(fleet.subjects.back().cells, {}, &Cell::column);
    }
  }

 private:
  void gather(const history::MeasuredSeries& each) {
    const auto newest = std::ranges::find_if(
        each.points.rbegin(), each.points.rend(),
        [this](const history::Measured& point) { return point.wall_ns <= input_.now_ns; });
    if (newest == each.points.rend()) {
      return;
    }
    const ColumnKey column = column_of(each.series);
    columns_.try_emplace(column, GatheredColumn{.series = &each.series});
    Gathered& cell = rows_[row_of(each.series.subject)][column];
    cell.newest.push_back(newest->value);
    cell.at_ns = std::max(cell.at_ns, newest->wall_ns);
  }

  static void finish(Gathered& gathered) {
    gathered.cell.value = *math::median(gathered.newest);
    gathered.cell.series = gathered.newest.size();
    gathered.cell.at = {.ns = gathered.at_ns};
  }

  Gathered* find(const RowKey& row, const ColumnKey& column) {
    const auto cells = rows_.find(row);
    if (cells == rows_.end()) {
      return nullptr;
    }
    const auto cell = cells->second.find(column);
    return cell == cells->second.end() ? nullptr : &cell->second;
  }

  void mark(const trends::SeriesChange& change) {
    Gathered* const found = find(row_of(change.series.subject), column_of(change.series));
    if (found == nullptr) {
      return;
    }
    Cell& cell = found->cell;
    const double percent = math::kPercent * change.change.relative.value_or(0);
    const std::pair rank(change.is_worse, std::abs(percent));
    if (cell.is_worse && std::pair(*cell.is_worse, std::abs(cell.percent.value_or(0))) >= rank) {
      return;
    }
    cell.before = change.change.before.median;
    cell.percent = change.change.relative ? std::optional(percent) : std::nullopt;
    cell.since = documents::WallTime{.ns = change.change.first_bad_ns};
    cell.is_worse = change.is_worse;
  }

  void mark(const trends::UnusualHost& each) {
    Gathered* const found =
        find({false, each.host, SubjectKind::Host}, {each.metric, each.setting});
    if (found == nullptr || each.what == trends::kPathsToIt) {
      return;
    }
    found->cell.others = each.others;
    found->cell.times = each.relative ? std::optional(1 + *each.relative) : std::nullopt;
  }

  // What most rows have comes first, of these what was measured last.
  std::vector<ColumnKey> shown_columns() const {
    std::vector<ColumnKey> keys;
    for (const auto& [key, column] : columns_) {
      keys.push_back(key);
    }
    std::ranges::stable_sort(keys, std::ranges::greater(), [this](const ColumnKey& key) {
      const GatheredColumn& column = columns_.at(key);
      return std::pair(column.rows, column.at_ns);
    });
    keys.resize(std::min(keys.size(), kMaxColumns));
    return keys;
  }

  const FleetInput& input_;
  std::map<RowKey, std::map<ColumnKey, Gathered>> rows_;
  std::map<ColumnKey, GatheredColumn> columns_;
};

}  // namespace

Fleet fleet_of(const FleetInput& input) {
  Fleet fleet{.since = {.ns = input.since_ns}, .series = input.series.size()};
  for (const history::MeasuredSeries& each : input.series) {
    fleet.rows += each.points.size();
  }
  for (const trends::HistoryFinding& finding :
       input.findings.first(std::min(input.findings.size(), kMaxFleetFindings))) {
    const history::Series& series = finding.changes.front().series;
    fleet.findings.push_back({.sentence = trends::headline_of(finding),
                              .is_worse = finding.is_worse,
                              .subject = history::text_of(series.subject),
                              .metric = series.metric});
  }
  FleetMap(input).add_to(fleet);
  return fleet;
}

}  // namespace chokepoint::analysis::web
