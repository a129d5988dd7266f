#include "analysis/commands/compare_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/commands/compare_words.h"
#include "analysis/compare/names.h"

namespace chokepoint::analysis {
namespace {

using Cells = std::vector<std::string>;

const char* short_title_of(Figure figure) {
  switch (figure) {
    case Figure::SamplesPerS:
      return "";  // its unit says it
    case Figure::ScalingFactor:
      return "scaling";
    case Figure::NetworkMbps:
      return "net";
    case Figure::VolumeBytes:
      return "volume";
    case Figure::MedianStepMs:
      return "median";
    case Figure::P99StepMs:
      return "p99";
    case Figure::EpochS:
      return "epoch 2";
    case Figure::LostMs:
      return "lost";
    case Figure::GpuMemoryBytes:
      return "GPU memory";
    case Figure::StepMs:
    case Figure::DurationS:
      break;
  }
  return traits_of(figure).title;
}

std::string joined(const std::string& title, const std::string& unit, const char* form) {
  if (title.empty() || unit.empty()) {
    return title + unit;
  }
  return fmt::format(fmt::runtime(form), title, unit);
}

void add_figure(const Comparison& comparison, Figure figure, Spread spread, TableOfRows& table) {
  const bool has_spread = spread == Spread::OfAll || figure == comparison.metric;
  const Scale scale = scale_of(comparison, figure);
  table.columns.push_back({.title = joined(traits_of(figure).title, scale.unit, "{} ({})"),
                           .short_title = joined(short_title_of(figure), scale.unit, "{} {}"),
                           .is_number = true});
  for (std::size_t row = 0; row < comparison.groups.size(); ++row) {
    const std::optional<Estimate>& estimate = comparison.groups[row][figure];
    table.rows[row].push_back(!estimate    ? "–"
                              : has_spread ? written(*estimate, scale)
                                           : written(estimate->mean, scale));
  }
}

// Named where it is the same for all rows, and short.
std::string baseline_name(const Comparison& comparison) {
  constexpr std::size_t kLongest = 20;
  std::set<std::size_t> baselines;
  for (const Group& group : comparison.groups) {
    if (group.difference) {
      baselines.insert(group.difference->baseline);
    }
  }
  const std::string name = baselines.size() == 1 ? comparison.groups[*baselines.begin()].name : "";
  return name.empty() || name.size() > kLongest ? "baseline" : name;
}

std::string verdict_text(const Group& group) {
  std::string text = name_of(group.verdict);
  const std::optional<Estimate>& lost = group[Figure::LostMs];
  if (lost && lost->mean > 0) {
    text += fmt::format(" {:.{}f} ms", lost->mean, lost->mean < 10 ? 1 : 0);
  }
  const std::size_t count = group.verdicts.at(name_of(group.verdict));
  return count == group.runs.size() ? text
                                    : fmt::format("{} ({} of {})", text, count, group.runs.size());
}

void add_other(const Comparison& comparison, const std::string& column, TableOfRows& table) {
  TableColumn& head = table.columns.emplace_back(
      TableColumn{.title = column, .short_title = column, .is_number = true});
  if (column == kShowChange) {
    head.title =
        fmt::format("{} against {}", traits_of(comparison.metric).title, baseline_name(comparison));
    head.short_title = "against " + baseline_name(comparison);
  }
  head.is_number = column != kShowVerdict;
  for (std::size_t row = 0; row < comparison.groups.size(); ++row) {
    const Group& group = comparison.groups[row];
    std::string cell;
    if (column == kShowRuns) {
      cell = fmt::format("{}", group.runs.size());
    } else if (column == kShowVerdict) {
      cell = verdict_text(group);
    } else {
      cell = group.difference    ? short_change(*group.difference)
             : group.is_baseline ? "baseline"
                                 : "–";
    }
    table.rows[row].push_back(std::move(cell));
  }
}

bool is_known(const Comparison& comparison, Figure figure) {
  return std::ranges::any_of(comparison.groups,
                             [&](const Group& group) { return group[figure].has_value(); });
}

// What is the same in all rows needs no column, unless it was asked for.
bool stands_in_table(const Shown& shown, std::size_t key) {
  return shown.are_keys_asked || shown.comparison.groups.size() == 1 ||
         !is_same_everywhere(shown.comparison, key);
}

std::vector<std::size_t> keys_in_table(const Shown& shown) {
  std::vector<std::size_t> keys;
  for (std::size_t key = 0; key < shown.comparison.keys.size(); ++key) {
    if (stands_in_table(shown, key)) {
      keys.push_back(key);
    }
  }
  return keys;
}

}  // namespace

Result<> check_columns(const std::vector<std::string>& columns) {
  for (const std::string& column : columns) {
    if (column != kShowRuns && column != kShowChange && column != kShowVerdict &&
        !figure_of(column)) {
      return fail(ErrorKind::Usage, "", "--show " + column, "is no column",
                  "'chokepoint compare --help' names the figures; there are also runs, change and "
                  "verdict");
    }
  }
  return {};
}

std::vector<std::string> usual_columns(const Comparison& comparison) {
  Cells columns;
  const auto& groups = comparison.groups;
  if (std::ranges::any_of(groups, [](const Group& group) { return group.runs.size() > 1; })) {
    columns.emplace_back(kShowRuns);
  }
  std::vector<Figure> figures{Figure::SamplesPerS, Figure::ScalingFactor, Figure::NetworkMbps,
                              Figure::VolumeBytes, Figure::StepMs};
  if (std::ranges::find(figures, comparison.metric) == figures.end()) {
    figures.push_back(comparison.metric);
  }
  for (const Figure figure : figures) {
    if (is_known(comparison, figure)) {
      columns.emplace_back(traits_of(figure).key);
    }
  }
  const auto changes = [](const Group& group) {
    return group.difference && group.difference->change_percent;
  };
  if (std::ranges::any_of(groups, changes)) {
    columns.emplace_back(kShowChange);
  }
  columns.emplace_back(kShowVerdict);
  return columns;
}

std::string common_keys(const Shown& shown) {
  const Comparison& comparison = shown.comparison;
  std::string text;
  for (std::size_t key = 0; key < comparison.keys.size(); ++key) {
    if (!stands_in_table(shown, key)) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", title_of_key(comparison.keys[key]),
                          shown_value(comparison, 0, key));
    }
  }
  return text;
}

TableOfRows table_of(const Shown& shown, Spread spread) {
  const Comparison& comparison = shown.comparison;
  TableOfRows table;
  const std::vector<std::size_t> keys = keys_in_table(shown);
  for (const std::size_t key : keys) {
    table.columns.push_back({.title = title_of_key(comparison.keys[key]),
                             .short_title = title_of_key(comparison.keys[key])});
  }
  for (std::size_t group = 0; group < comparison.groups.size(); ++group) {
    Cells& row = table.rows.emplace_back();
    for (const std::size_t key : keys) {
      row.push_back(shown_value(comparison, group, key));
    }
  }
  if (keys.empty()) {
    table.columns.emplace_back();
    table.rows.front().push_back(comparison.groups.front().name);
  }
  for (const std::string& column : shown.columns) {
    const std::optional<Figure> figure = figure_of(column);
    figure ? add_figure(comparison, *figure, spread, table) : add_other(comparison, column, table);
  }
  return table;
}

}  // namespace chokepoint::analysis
