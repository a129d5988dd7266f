#include "base/cli/help.h"

#include <fmt/format.h>

#include <algorithm>

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
    line += positional.verbatim ? " --" : "";
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

std::string overview(const Program& program, const std::vector<Summary>& commands, int width) {
  width = std::min(width, kWidestHelp);
  std::string text = fmt::format("{0}: {1}\n\nUsage: {0} COMMAND [options]\n\nCommands:\n",
                                 program.name, program.purpose);
  const std::size_t column = widest(commands, [](const Summary& s) { return s.name; });
  for (const Summary& summary : commands) {
    text += entry(summary.name, summary.purpose, column, width);
  }
  text += fmt::format(
      "\n'{0} COMMAND --help' explains a command. Every command knows --json, --quiet, --help\n"
      "and --version.\n\n"
      "Exit codes: 0 done, nothing wrong found; 1 the work failed; 2 wrong usage; 3 done, and a\n"
      "check failed or a bottleneck was found; 130 interrupted.\n",
      program.name);
  return text;
}

}  // namespace chokepoint::cli
