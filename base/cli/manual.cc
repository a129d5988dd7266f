#include <fmt/format.h>

#include "base/cli/help.h"

namespace chokepoint::cli {
namespace {

// Text as roff takes it: backslashes and dashes kept, no line mistaken for a request.
std::string escaped(const std::string& text) {
  std::string result;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) {
      result += "\\&";
    }
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    line_start = c == '\n';
  }
  return result;
}

std::string paragraphs(const std::string& text) {
  std::string result = escaped(text);
  for (std::size_t at = 0; (at = result.find("\n\n", at)) != std::string::npos;) {
    result.replace(at, 2, "\n.PP\n");
  }
  return result + "\n";
}

std::string head(const Program& program, const std::string& page, const std::string& purpose) {
  return fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", page,
                     program.name, program.version, page, escaped(purpose));
}

std::string flag_entry(const Flag& flag) {
  std::string line = flag.letter == 0 ? "" : fmt::format("\\fB\\-{}\\fR, ", flag.letter);
  line += fmt::format("\\fB\\-\\-{}\\fR", escaped(flag.name));
  line += flag.value.empty() ? "" : fmt::format(" \\fI{}\\fR", escaped(flag.value));
  std::string help = flag.help;
  if (!flag.value.empty() && !flag.default_text.empty()) {
    help += fmt::format(" (default: {})", flag.default_text);
  }
  return fmt::format(".TP\n{}\n{}\n", line, escaped(help));
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\ndone, nothing wrong found\n"
    ".TP\n1\nthe work failed\n"
    ".TP\n2\nwrong usage\n"
    ".TP\n3\ndone, and a check failed or a bottleneck was found\n"
    ".TP\n130\ninterrupted; what was measured is kept\n";

std::string page_name(const Program& program, const std::string& command) {
  std::string page = program.name + "-" + command;
  for (char& c : page) {
    c = c == ' ' ? '-' : c;
  }
  return page;
}

}  // namespace

std::string manual_page(const Program& program, const Definition& definition) {
  const Summary& summary = definition.summary;
  std::string page = head(program, page_name(program, summary.name), summary.purpose);
  page += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR {}\n", program.name, escaped(synopsis(definition)));
  page += ".SH DESCRIPTION\n" + paragraphs(summary.description);
  for (const Positional& positional : definition.flags.positionals()) {
    page += fmt::format(".TP\n\\fI{}\\fR\n{}\n", positional.name, escaped(positional.help));
  }
  for (const FlagGroup& group : definition.flags.groups()) {
    page += fmt::format(".SH {}\n", escaped(group.title));
    for (const Flag& flag : group.flags) {
      page += flag_entry(flag);
    }
  }
  page += kExitStatus;
  page += ".SH EXAMPLES\n";
  for (const Example& example : summary.examples) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(example.line), escaped(example.meaning));
  }
  return page + fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)\n", program.name);
}

std::string manual_overview(const Program& program, const std::vector<Summary>& commands) {
  std::string page = head(program, program.name, program.purpose);
  page += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR \\fICOMMAND\\fR [options]\n.SH COMMANDS\n",
                      program.name);
  for (const Summary& summary : commands) {
    page += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", escaped(page_name(program, summary.name)),
                        escaped(summary.purpose));
  }
  page += kExitStatus;
  return page;
}

}  // namespace chokepoint::cli
