#include "base/cli/table.h"

#include <algorithm>

#include "base/cli/text.h"

namespace chokepoint::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowestLast = 24;

std::string_view code_of(Tint tint) {
  switch (tint) {
    case Tint::Good:
      return "\033[32m";
    case Tint::Notice:
      return "\033[33m";
    case Tint::Bad:
      return "\033[31m";
    case Tint::Faint:
      return "\033[2m";
    case Tint::Bold:
      return "\033[1m";
    case Tint::None:
      break;
  }
  return "";
}

std::string padded(const Cell& cell, std::size_t width, Align align, const Terminal& terminal) {
  const std::string space(width - std::min(width, width_of(cell.text)), ' ');
  const std::string text = tinted(cell.text, cell.tint, terminal);
  return align == Align::Right ? space + text : text + space;
}

}  // namespace

std::string tinted(const std::string& text, Tint tint, const Terminal& terminal) {
  if (!terminal.color || tint == Tint::None) {
    return text;
  }
  return std::string(code_of(tint)) + text + "\033[0m";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) {
    column.title = printable(column.title);
  }
}

void Table::add(std::vector<Cell> row) {
  for (Cell& cell : row) {
    cell.text = printable(cell.text);
  }
  rows_.push_back(std::move(row));
}

void Table::print(std::ostream& out, const Terminal& terminal) const {
  std::vector<std::size_t> widths;
  std::size_t used = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = width_of(columns_[i].title);
    for (const auto& row : rows_) {
      width = std::max(width, i < row.size() ? width_of(row[i].text) : 0);
    }
    widths.push_back(width);
    used += i + 1 < columns_.size() ? width + kGap : 0;
  }
  const std::size_t room = static_cast<std::size_t>(terminal.width);
  const std::size_t last = std::max(room > used ? room - used : 0, kNarrowestLast);

  const auto print_row = [&](const std::vector<Cell>& row) {
    std::string line;
    for (std::size_t i = 0; i + 1 < columns_.size(); ++i) {
      const Cell& cell = i < row.size() ? row[i] : Cell("");
      line += padded(cell, widths[i], columns_[i].align, terminal) + std::string(kGap, ' ');
    }
    const Cell& cell = row.size() == columns_.size() ? row.back() : Cell("");
    const std::vector<std::string> lines = broken(cell.text, last);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool right = columns_.back().align == Align::Right;
      const std::size_t width = right ? std::min(widths.back(), last) : 0;
      line += padded({lines[i], cell.tint}, width, columns_.back().align, terminal);
      line.erase(line.find_last_not_of(' ') + 1);
      out << line << '\n';
      line = std::string(used, ' ');
    }
  };

  std::vector<Cell> titles;
  for (const Column& column : columns_) {
    titles.emplace_back(column.title, Tint::Bold);
  }
  print_row(titles);
  for (const auto& row : rows_) {
    print_row(row);
  }
}

namespace {

bool is_control(char letter) {
  return static_cast<unsigned char>(letter) < 0x20 || letter == '\x7F';
}

bool looks_like_formula(std::string_view text) {
  constexpr std::string_view kBegins = "=+-@\t\r\n";
  return !text.empty() && kBegins.find(text.front()) != std::string_view::npos;
}

}  // namespace

void append_csv(std::string& out, std::string_view text) {
  const bool is_guarded = looks_like_formula(text);
  const bool is_quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  out += is_quoted ? "\"" : "";
  out += is_guarded ? "'" : "";
  each_letter(text, [&](std::string_view letter) {
    constexpr std::string_view kKept = "\t\r\n";
    if (is_control(letter.front()) && kKept.find(letter) == std::string_view::npos) {
      out += kNoLetter;
      return;
    }
    out += letter;
    out += letter == "\"" ? "\"" : "";
  });
  out += is_quoted ? "\"" : "";
}

std::string csv_text(std::string_view text) {
  std::string cell;
  append_csv(cell, text);
  return cell;
}

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
