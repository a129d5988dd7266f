// A table for people: columns as wide as their longest cell, numbers to the right. The last text
// column is wrapped where the terminal is narrow. A value; one thread.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/context.h"

namespace chokepoint::cli {

enum class Align { Left, Right };
enum class Tint { None, Good, Notice, Bad, Faint, Bold };

struct Column {
  std::string title;
  Align align = Align::Left;
};

struct Cell {
  Cell(std::string cell_text, Tint cell_tint = Tint::None)  // NOLINT: cells are written as text
      : text(std::move(cell_text)), tint(cell_tint) {}
  Cell(const char* cell_text) : text(cell_text) {}  // NOLINT: likewise
  std::string text;
  Tint tint = Tint::None;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);
  // What could move a terminal's cursor is not let through.
  void add(std::vector<Cell> row);
  void print(std::ostream& out, const Terminal& terminal) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// The text in the tint's colour where the terminal welcomes colour, else as it is.
std::string tinted(const std::string& text, Tint tint, const Terminal& terminal);

// Tables for other programs. Pure functions.

// A cell as RFC 4180 has it. Control characters but line ends and tabs become U+FFFD. What a
// spreadsheet would read as a formula gets an apostrophe in front of it.
void append_csv(std::string& out, std::string_view text);

std::string csv_text(std::string_view text);

// Markdown as tickets and wikis take it (CommonMark with tables). Texts from other hosts are text
// and never become markup. Pure functions.

// As a part of a line: control characters and line ends as dots, what could be markup escaped.
std::string markdown_text(std::string_view text);
// In backticks, so many that none inside can end it.
std::string markdown_code(std::string_view text);
// The cells are plain text.
std::string markdown_table(const std::vector<Column>& columns,
                           const std::vector<std::vector<std::string>>& rows);

}  // namespace chokepoint::cli
