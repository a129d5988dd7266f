#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>

#include "analysis/commands/compare_table.h"
#include "analysis/commands/compare_words.h"
#include "base/cli/markdown.h"

namespace chokepoint::analysis {
namespace {

void print_row(std::ostream& out, const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) {
    out << "| " << cli::markdown_text(cell) << ' ';
  }
  out << "|\n";
}

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
  std::vector<std::string> titles;
  std::string rule;
  for (const TableColumn& column : table.columns) {
    titles.push_back(capital(column.title));
    rule += column.is_number ? "| ---: " : "| --- ";
  }
  print_row(out, titles);
  out << rule << "|\n";
  for (const std::vector<std::string>& row : table.rows) {
    print_row(out, row);
  }
  print_list(out, "Differences", differences_of(shown));
  std::vector<std::string> remarks = remarks_of(shown);
  std::ranges::move(left_out_of(shown.comparison), std::back_inserter(remarks));
  print_list(out, "To know", remarks);
}

}  // namespace chokepoint::analysis
