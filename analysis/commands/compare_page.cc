#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>

#include "analysis/commands/compare_table.h"
#include "analysis/commands/compare_words.h"
#include "base/cli/table.h"
#include "base/cli/text.h"

namespace chokepoint::analysis {
namespace {

// A label may be as long as its writer liked.
std::string cut(const std::string& text) {
  constexpr std::size_t kWidest = 40;
  if (cli::width_of(text) <= kWidest) {
    return text;
  }
  std::string start;
  for (const char letter : text) {
    const bool begins = (static_cast<unsigned char>(letter) & 0xc0U) != 0x80;
    if (begins && cli::width_of(start) + 1 == kWidest) {
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

// The first line stands out to the left.
void print_lines(std::ostream& out, const cli::Terminal& terminal,
                 const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    std::string text = cli::wrapped(cli::printable(line), std::max(terminal.width, 40), 4);
    text.replace(0, 4, "  ");
    out << text;
  }
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
  std::vector<std::string> remarks = remarks_of(shown);
  std::ranges::move(left_out_of(shown.comparison), std::back_inserter(remarks));
  if (!remarks.empty()) {
    out << "\nto know\n";
    print_lines(out, terminal, remarks);
  }
}

}  // namespace chokepoint::analysis
