// A comparison as a table: on a terminal, with bars and remarks, and in Markdown.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <set>

#include "analysis/commands/compare.h"
#include "analysis/commands/diagnose.h"
#include "analysis/compare/grouping.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

// Labels may be of any length.
std::string cut(const std::string& text) {
  constexpr std::size_t kMaxCellWidth = 40;
  if (cli::width_of(text) <= kMaxCellWidth) {
    return text;
  }
  std::string start;
  for (const char letter : text) {
    const bool begins = (static_cast<unsigned char>(letter) & 0xc0U) != 0x80;
    if (begins && cli::width_of(start) + 1 == kMaxCellWidth) {
      break;
    }
    start += letter;
  }
  return start + "…";
}

cli::Tint tint_of(const Group& group, const std::string& column) {
  if (column != kShowChange || !group.difference || !group.difference->is_worse) {
    return cli::Tint::None;
  }
  return *group.difference->is_worse ? cli::Tint::Bad : cli::Tint::Good;
}

std::size_t width_of(const TableOfRows& table) {
  constexpr std::size_t kGap = 2;
  std::size_t width = 0;
  for (std::size_t at = 0; at < table.columns.size(); ++at) {
    std::size_t widest = cli::width_of(cli::printable(table.columns[at].short_title));
    for (const std::vector<std::string>& row : table.rows) {
      widest = std::max(widest, cli::width_of(cut(cli::printable(row[at]))));
    }
    width += widest + (at == 0 ? 0 : kGap);
  }
  return width;
}

void print_table(std::ostream& out, const cli::Terminal& terminal, const Shown& shown) {
  TableOfRows rows = table_of(shown);
  if (width_of(rows) > static_cast<std::size_t>(std::max(terminal.width, 0))) {
    rows = table_of(shown, Spread::OfMetric);
  }
  std::vector<cli::Column> columns;
  for (const TableColumn& column : rows.columns) {
    columns.push_back({cli::printable(column.short_title),
                       column.is_number ? cli::Align::Right : cli::Align::Left});
  }
  cli::Table table(std::move(columns));
  const std::size_t keys = rows.columns.size() - shown.columns.size();
  for (std::size_t row = 0; row < rows.rows.size(); ++row) {
    std::vector<cli::Cell> cells;
    for (std::size_t at = 0; at < rows.rows[row].size(); ++at) {
      const cli::Tint tint = at < keys
                                 ? cli::Tint::None
                                 : tint_of(shown.comparison.groups[row], shown.columns[at - keys]);
      cells.emplace_back(cut(cli::printable(rows.rows[row][at])), tint);
    }
    table.add(std::move(cells));
  }
  table.print(out, terminal);
}

// A line that is continued is indented further than it begins.
void print_lines(std::ostream& out, const cli::Terminal& terminal,
                 const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    std::string text = cli::wrapped(cli::printable(line), std::max(terminal.width, 40), 4);
    text.replace(0, 4, "  ");
    out << text;
  }
}

std::vector<std::string> remarks_and_left_out(const Shown& shown) {
  std::vector<std::string> lines = remarks_of(shown);
  for (const LeftOut& run : shown.comparison.left_out) {
    lines.push_back(fmt::format("left out: {}: {}", run.path, run.reason));
  }
  return lines;
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
  table.columns.push_back(
      {.title = joined(traits_of(figure).title, scale.unit, "{} ({})"),
       .short_title = joined(traits_of(figure).short_title, scale.unit, "{} {}"),
       .is_number = true});
  for (std::size_t row = 0; row < comparison.groups.size(); ++row) {
    const std::optional<Estimate>& estimate = comparison.groups[row][figure];
    table.rows[row].push_back(!estimate    ? "–"
                              : has_spread ? written(*estimate, scale)
                                           : written(estimate->mean, scale));
  }
}

// The baseline's name where all rows have the same and it is short, else "baseline".
std::string baseline_name(const Comparison& comparison) {
  constexpr std::size_t kMaxNameLength = 20;
  std::set<std::size_t> baselines;
  for (const Group& group : comparison.groups) {
    if (group.difference) {
      baselines.insert(group.difference->baseline);
    }
  }
  const std::string name = baselines.size() == 1 ? comparison.groups[*baselines.begin()].name : "";
  return name.empty() || name.size() > kMaxNameLength ? "baseline" : name;
}

std::string verdict_text(const Group& group) {
  std::string text = name_of(group.verdict);
  const std::optional<Estimate>& lost = group[Figure::LostMs];
  if (lost && lost->mean > 0) {
    text += " " + math::format_ms(lost->mean);
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
  if (column == kShowRuns && comparison.is_of_probes) {
    head.title = head.short_title = "tests";
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

// A key that is the same in all rows gets no column, unless the user asked for it.
bool has_column(const Shown& shown, std::size_t key) {
  return shown.are_keys_asked || shown.comparison.groups.size() == 1 ||
         !is_same_everywhere(shown.comparison, key);
}

std::vector<std::size_t> keys_in_table(const Shown& shown) {
  std::vector<std::size_t> keys;
  for (std::size_t key = 0; key < shown.comparison.keys.size(); ++key) {
    if (has_column(shown, key)) {
      keys.push_back(key);
    }
  }
  return keys;
}

constexpr double kGroupBarLetters = 40;

double most_of(const Comparison& comparison, Figure figure) {
  double most = 0;
  for (const Group& group : comparison.groups) {
    most = std::max(most, group[figure] ? group[figure]->mean : 0);
  }
  return most;
}

// An empty line separates rows whose first keys differ.
bool begins_bundle(const Comparison& comparison, std::size_t group) {
  return group > 0 && comparison.keys.size() > 1 &&
         comparison.groups[group].values.front() != comparison.groups[group - 1].values.front();
}

void print_list(std::ostream& out, const std::string& title,
                const std::vector<std::string>& lines) {
  if (lines.empty()) {
    return;
  }
  fmt::print(out, "\n**{}**\n\n", title);
  for (const std::string& line : lines) {
    fmt::print(out, "- {}\n", cli::markdown_text(line));
  }
}

std::string capitalized(std::string title) {
  if (!title.empty() && title.front() >= 'a' && title.front() <= 'z') {
    title.front() = static_cast<char>(title.front() - 32);
  }
  return title;
}

}  // namespace

void print_page(std::ostream& out, const cli::Terminal& terminal, const Shown& shown) {
  if (const std::string common = common_keys(shown); !common.empty()) {
    fmt::print(out, "all rows: {}\n\n", cli::printable(common));
  }
  print_table(out, terminal, shown);
  if (shown.bars) {
    print_bars(out, terminal, shown);
  }
  const std::vector<std::string> differences = differences_of(shown);
  if (!differences.empty()) {
    out << "\ndifferences\n";
    print_lines(out, terminal, differences);
  }
  for (const FactLines& facts : facts_of(shown)) {
    fmt::print(out, "\nhost facts that differ, {}\n", cli::printable(facts.title));
    print_lines(out, terminal, facts.lines);
  }
  const std::vector<std::string> remarks = remarks_and_left_out(shown);
  if (!remarks.empty()) {
    out << "\nnotes\n";
    print_lines(out, terminal, remarks);
  }
}

Result<> check_columns(const std::vector<std::string>& columns) {
  for (const std::string& column : columns) {
    if (column != kShowRuns && column != kShowChange && column != kShowVerdict &&
        !figure_of(column)) {
      return fail(ErrorKind::Usage, "", "--show " + column, "not a column",
                  "'chokepoint compare --help' names the figures; there are also runs, change and "
                  "verdict");
    }
  }
  return {};
}

namespace {

bool has_changes(const Comparison& comparison) {
  return std::ranges::any_of(comparison.groups, [](const Group& group) {
    return group.difference && group.difference->change_percent;
  });
}

// The metric, what changed of it, and the others that are known.
std::vector<std::string> columns_of_probes(const Comparison& comparison,
                                           std::vector<std::string> columns) {
  columns.emplace_back(traits_of(comparison.metric).key);
  if (has_changes(comparison)) {
    columns.emplace_back(kShowChange);
  }
  for (const Figure figure : figures_in(comparison)) {
    if (figure != comparison.metric) {
      columns.emplace_back(traits_of(figure).key);
    }
  }
  return columns;
}

}  // namespace

std::vector<std::string> usual_columns(const Comparison& comparison) {
  std::vector<std::string> columns;
  const auto& groups = comparison.groups;
  if (std::ranges::any_of(groups, [](const Group& group) { return group.runs.size() > 1; })) {
    columns.emplace_back(kShowRuns);
  }
  if (comparison.is_of_probes) {
    return columns_of_probes(comparison, std::move(columns));
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
  if (has_changes(comparison)) {
    columns.emplace_back(kShowChange);
  }
  columns.emplace_back(kShowVerdict);
  return columns;
}

std::string common_keys(const Shown& shown) {
  const Comparison& comparison = shown.comparison;
  std::string text;
  for (std::size_t key = 0; key < comparison.keys.size(); ++key) {
    if (!has_column(shown, key)) {
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
    std::vector<std::string>& row = table.rows.emplace_back();
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

void print_bars(std::ostream& out, const cli::Terminal& terminal, const Shown& shown) {
  const Figure figure = *shown.bars;
  const Comparison& comparison = shown.comparison;
  const Scale scale = scale_of(comparison, figure);
  const double most = most_of(comparison, figure);
  cli::Table table({{traits_of(figure).title}, {scale.unit, cli::Align::Right}, {""}});
  for (std::size_t at = 0; at < comparison.groups.size(); ++at) {
    const Group& group = comparison.groups[at];
    if (begins_bundle(comparison, at)) {
      table.add({"", "", ""});
    }
    const std::optional<Estimate>& estimate = group[figure];
    table.add({cli::printable(group.name), estimate ? written(estimate->mean, scale) : "–",
               estimate && most > 0 ? share_bar(estimate->mean / most, kGroupBarLetters) : ""});
  }
  out << '\n';
  table.print(out, terminal);
}

void print_markdown(std::ostream& out, const Shown& shown) {
  if (const std::string common = common_keys(shown); !common.empty()) {
    fmt::print(out, "All rows: {}\n\n", cli::markdown_text(common));
  }
  const TableOfRows table = table_of(shown);
  std::vector<cli::Column> columns;
  for (const TableColumn& column : table.columns) {
    columns.push_back(
        {capitalized(column.title), column.is_number ? cli::Align::Right : cli::Align::Left});
  }
  out << cli::markdown_table(columns, table.rows);
  print_list(out, "Differences", differences_of(shown));
  for (const FactLines& facts : facts_of(shown)) {
    print_list(out, "Host facts that differ, " + cli::markdown_text(facts.title), facts.lines);
  }
  const std::vector<std::string> remarks = remarks_and_left_out(shown);
  print_list(out, "Notes", remarks);
}

}  // namespace chokepoint::analysis
