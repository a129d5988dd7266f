#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>

#include "analysis/commands/compare_table.h"
#include "analysis/commands/compare_words.h"
#include "base/cli/table.h"

namespace chokepoint::analysis {
namespace {

void print_list(std::ostream& out, const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) {
    return;
  }
  fmt::print(out, "\n**{}**\n\n", title);
  for (const std::string& line : lines) {
    fmt::print(out, "- {}\n", cli::markdown_text(line));
  }
}

// What a table has begins with a capital.
std::string capital(std::string title) {
  if (!title.empty() && title.front() >= 'a' && title.front() <= 'z') {
    title.front() = static_cast<char>(title.front() - 32);
  }
  return title;
}

}  // namespace

void print_markdown(std::ostream& out, const Shown& shown) {
  if (const std::string common = common_keys(shown); !common.empty()) {
    fmt::print(out, "All rows: {}\n\n", cli::markdown_text(common));
  }
  const TableOfRows table = table_of(shown);
  std::vector<cli::Column> columns;
  for (const TableColumn& column : table.columns) {
    columns.push_back(
        {capital(column.title), column.is_number ? cli::Align::Right : cli::Align::Left});
  }
  out << cli::markdown_table(columns, table.rows);
  print_list(out, "Differences", differences_of(shown));
  std::vector<std::string> remarks = remarks_of(shown);
  std::ranges::move(left_out_of(shown.comparison), std::back_inserter(remarks));
  print_list(out, "To know", remarks);
}

}  // namespace chokepoint::analysis
