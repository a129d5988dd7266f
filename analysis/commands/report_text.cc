#include <fmt/format.h>
#include <fmt/ostream.h>

#include "analysis/commands/diagnose_words.h"
#include "analysis/commands/report_sections.h"
#include "analysis/commands/report_views.h"
#include "base/cli/table.h"
#include "base/cli/text.h"

namespace chokepoint::analysis {
namespace {

constexpr int kSectionIndent = 2;

void print_table(std::ostream& out, const cli::Terminal& terminal, const SectionTable& table) {
  cli::Table printed(table.columns);
  for (const std::vector<std::string>& row : table.rows) {
    printed.add({row.begin(), row.end()});
  }
  printed.print(out, terminal);
}

std::string markdown_advice(const Advice& advice) {
  const std::string what = cli::markdown_text(advice.what);
  const std::string command = advice.command.empty() ? "" : cli::markdown_code(advice.command);
  return fmt::format("- {}{}{}\n", what, what.empty() || command.empty() ? "" : ": ", command);
}

}  // namespace

void print_report(std::ostream& out, const cli::Terminal& terminal, const Report& report) {
  bool is_first = true;
  for (const Section& section : sections_of(report)) {
    if (!section.title.empty()) {
      fmt::print(out, "{}{}\n", is_first ? "" : "\n",
                 cli::tinted(section.title, cli::Tint::Bold, terminal));
    }
    is_first = false;
    for (const std::string& line : section.lines) {
      out << cli::wrapped(cli::printable(line), terminal.width,
                          section.title.empty() ? 0 : kSectionIndent);
    }
    for (const Advice& advice : section.advice) {
      out << with_command(cli::printable(advice.what), cli::printable(advice.command),
                          terminal.width, kSectionIndent);
    }
    if (!section.table.rows.empty()) {
      print_table(out, terminal, section.table);
    }
  }
}

std::string markdown_of(const Report& report) {
  std::string text;
  for (const Section& section : sections_of(report)) {
    text += text.empty() ? "" : "\n";
    if (section.title.empty()) {
      text += "# " + cli::markdown_text(report.diagnosis.run) + "\n\n";
    } else {
      text += "## " + cli::markdown_text(section.title) + "\n\n";
    }
    const bool is_list = section.lines.size() > 1 && !section.title.empty();
    for (const std::string& line : section.lines) {
      text += (is_list ? "- " : "") + cli::markdown_text(line) + (is_list ? "\n" : "\n\n");
    }
    for (const Advice& advice : section.advice) {
      text += markdown_advice(advice);
    }
    if (!section.table.rows.empty()) {
      text += cli::markdown_table(section.table.columns, section.table.rows);
    }
  }
  return text;
}

}  // namespace chokepoint::analysis
