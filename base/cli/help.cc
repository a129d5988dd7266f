#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/cli/dispatch.h"
#include "base/cli/text.h"

namespace chokepoint::cli {
namespace {

constexpr int kWidestHelp = 100;
constexpr std::size_t kWidestFlag = 28;

std::string flag_head(const Flag& flag) {
  std::string head = flag.letter == 0 ? "    " : fmt::format("-{}, ", flag.letter);
  head += "--" + flag.name;
  return flag.value.empty() ? head : head + " " + flag.value;
}

std::string flag_help(const Flag& flag) {
  return flag.default_text.empty() || flag.value.empty()
             ? flag.help
             : fmt::format("{} (default: {})", flag.help, flag.default_text);
}

// "  head   text", the text wrapped beside the head, or below it where the head is too long.
std::string entry(const std::string& head, const std::string& text, std::size_t column, int width) {
  const std::string body = wrapped(text, width, static_cast<int>(column) + 4);
  const std::string start = "  " + head;
  if (start.size() + 2 > column + 4) {
    return start + "\n" + body;
  }
  return start + body.substr(start.size());
}

template <class Range, class Head>
std::size_t widest(const Range& range, Head head) {
  std::size_t column = 0;
  for (const auto& item : range) {
    column = std::max(column, head(item).size());
  }
  return std::min(column, kWidestFlag);
}

}  // namespace

std::string synopsis(const Definition& definition) {
  std::string line = definition.summary.name + " [options]";
  for (const Positional& positional : definition.flags.positionals()) {
    const std::string name = positional.name + (positional.repeats ? "…" : "");
    line += positional.verbatim ? " [--]" : "";
    line += positional.required ? " " + name : " [" + name + "]";
  }
  return line;
}

std::string help_text(const Program& program, const Definition& definition, int width) {
  width = std::min(width, kWidestHelp);
  const Summary& summary = definition.summary;
  std::string text = fmt::format("{} {}: {}\n\nUsage: {} {}\n\n", program.name, summary.name,
                                 summary.purpose, program.name, synopsis(definition));
  text += wrapped(summary.description, width, 0);
  if (!definition.flags.positionals().empty()) {
    text += "\nArguments:\n";
    for (const Positional& positional : definition.flags.positionals()) {
      text += entry(positional.name, positional.help, kWidestFlag, width);
    }
  }
  for (const FlagGroup& group : definition.flags.groups()) {
    if (group.flags.empty()) {
      continue;
    }
    text += fmt::format("\n{}:\n", group.title);
    for (const Flag& flag : group.flags) {
      text += entry(flag_head(flag), flag_help(flag), kWidestFlag, width);
    }
  }
  text += "\nExamples:\n";
  for (const Example& example : summary.examples) {
    text += fmt::format("  {}\n{}", example.line, wrapped(example.meaning, width, 6));
  }
  return text;
}

namespace {

std::string command_list(const std::vector<Registered>& commands, int width) {
  const std::size_t column =
      widest(commands, [](const Registered& command) { return command.summary.name; });
  std::string text;
  std::string section;
  for (const Registered& command : commands) {
    if (command.section != section) {
      section = command.section;
      text += fmt::format("\n{}:\n", section);
    }
    text += entry(command.summary.name, command.summary.purpose, column, width);
  }
  return text;
}

std::string quick_start(const std::vector<Example>& lines, int width) {
  if (lines.empty()) {
    return "";
  }
  std::size_t column = 0;
  for (const Example& line : lines) {
    column = std::max(column, width_of(line.line));
  }
  std::string text = "\nQuick start:\n";
  for (const Example& line : lines) {
    text += entry(line.line, line.meaning, column, width);
  }
  return text;
}

}  // namespace

std::string overview(const Program& program, const std::vector<Registered>& commands, int width) {
  width = std::min(width, kWidestHelp);
  std::string text =
      fmt::format("{0}: {1}\n\nUsage: {0} COMMAND [options]\n", program.name, program.purpose);
  text += quick_start(program.quick_start, width);
  text += command_list(commands, width);
  text += fmt::format(
      "\n'{0} COMMAND --help' explains a command, with examples. Commands that print a\n"
      "result have --json. '{0} completion bash|zsh|fish' prints the file for your shell.\n\n"
      "Exit codes: 0 done, nothing wrong found; 1 the work failed; 2 wrong usage; 3 done, and a\n"
      "check failed or a bottleneck was found; 130 interrupted.\n",
      program.name);
  return text;
}

std::string family_overview(const Program& program, const std::vector<Registered>& commands,
                            const std::string& first, int width) {
  std::vector<Registered> family;
  std::ranges::copy_if(commands, std::back_inserter(family), [&](const Registered& command) {
    return command.summary.name.starts_with(first + " ");
  });
  if (family.empty()) {
    return "";
  }
  for (Registered& command : family) {
    command.section = "Commands";
  }
  return fmt::format("Usage: {} {} COMMAND [options]\n{}\n'{} {} --help' explains the first.\n",
                     program.name, first, command_list(family, std::min(width, kWidestHelp)),
                     program.name, family.front().summary.name);
}

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
