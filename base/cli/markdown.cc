#include "base/cli/markdown.h"

#include <algorithm>

#include "base/cli/utf8.h"

namespace chokepoint::cli {
namespace {

std::size_t longest_run_of(char letter, std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char each : text) {
    run = each == letter ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

void add_safely(char letter, std::string& safe) {
  constexpr std::string_view kMarkup = "\\|`*_[]~#!@$";
  switch (letter) {
    case '&':
      safe += "&amp;";
      return;
    case '<':
      safe += "&lt;";
      return;
    case '>':
      safe += "&gt;";
      return;
    default:
      safe += kMarkup.find(letter) == std::string_view::npos ? "" : "\\";
      safe += letter;
  }
}

std::string row_of(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) {
    row += ' ' + cell + " |";
  }
  return row + '\n';
}

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string safe;
  for (const char letter : printable(text)) {
    add_safely(letter, safe);
  }
  return safe;
}

std::string markdown_code(std::string_view text) {
  const std::string line = printable(text);
  const std::string fence(longest_run_of('`', line) + 1, '`');
  const bool touches = line.starts_with('`') || line.ends_with('`');
  return fence + (touches ? " " + line + " " : line) + fence;
}

std::string markdown_table(const std::vector<Column>& columns,
                           const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string> titles;
  std::vector<std::string> rules;
  for (const Column& column : columns) {
    titles.push_back(markdown_text(column.title));
    rules.emplace_back(column.align == Align::Right ? "---:" : "---");
  }
  std::string table = row_of(titles) + row_of(rules);
  for (const std::vector<std::string>& row : rows) {
    std::vector<std::string> cells;
    std::ranges::transform(row, std::back_inserter(cells), markdown_text);
    table += row_of(cells);
  }
  return table;
}

}  // namespace chokepoint::cli
