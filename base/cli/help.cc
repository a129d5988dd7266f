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
      "\n'{0} COMMAND --help' explains a command, with examples. What prints a result knows\n"
      "--json. '{0} completion bash|zsh|fish' prints what your shell needs.\n\n"
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

std::string options_of(const Flags& flags) {
  std::string words;
  for (const FlagGroup& group : flags.groups()) {
    for (const Flag& flag : group.flags) {
      words += words.empty() ? "" : " ";
      words += "--" + flag.name;
    }
  }
  return words;
}

std::string first_word(const std::string& name) { return name.substr(0, name.find(' ')); }

// Second words of two-word commands, one case a first word.
std::string second_words(const std::vector<Definition>& commands) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const Definition& command : commands) {
    const std::string& name = command.summary.name;
    const std::string first = first_word(name);
    if (first == name) {
      continue;
    }
    if (groups.empty() || groups.back().first != first) {
      groups.push_back({first, {}});
    }
    groups.back().second.push_back(name.substr(first.size() + 1));
  }
  std::string cases;
  for (const auto& [first, seconds] : groups) {
    cases += fmt::format("    {}) seconds=\"{}\" ;;\n", first, fmt::join(seconds, " "));
  }
  return cases;
}

std::string choices_of(const Definition& command) {
  std::string cases;
  for (const FlagGroup& group : command.flags.groups()) {
    for (const Flag& flag : group.flags) {
      if (!flag.choices.empty()) {
        cases += fmt::format("    \"{} --{}\") words=\"{}\" ;;\n", command.summary.name, flag.name,
                             fmt::join(flag.choices, " "));
      }
    }
  }
  return cases;
}

}  // namespace

namespace {

std::string bash_completion(const Program& program, const std::vector<Definition>& commands) {
  std::string firsts;
  std::string options;
  std::string choices;
  for (const Definition& command : commands) {
    const std::string first = first_word(command.summary.name);
    if ((" " + firsts + " ").find(" " + first + " ") == std::string::npos) {
      firsts += firsts.empty() ? first : " " + first;
    }
    options += fmt::format("    \"{}\") words=\"{}\" ;;\n", command.summary.name,
                           options_of(command.flags));
    choices += choices_of(command);
  }
  return fmt::format(R"(# bash completion for {0}, generated by '{0} completion bash'
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local command=${{COMP_WORDS[1]}} seconds="" words=""
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=($(compgen -W "{1} --help --version" -- "$word"))
    return
  fi
  case $command in
{2}  esac
  if [[ -n $seconds ]]; then
    if (( COMP_CWORD == 2 )); then
      COMPREPLY=($(compgen -W "$seconds" -- "$word"))
      return
    fi
    command+=" ${{COMP_WORDS[2]}}"
  fi
  case "$command $previous" in
{3}  esac
  if [[ -z $words && $word == -* ]]; then
    case $command in
{4}    esac
  fi
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    compopt -o default 2>/dev/null
  fi
}}
complete -F _{0} {0}
)",
                     program.name, firsts, second_words(commands), choices, options);
}

// Within single quotes of a shell.
std::string single_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

// zsh's _describe takes "name:text", and a colon of the name with a backslash.
std::string zsh_completion(const Program& program, const std::vector<Definition>& commands) {
  std::string names;
  std::string options;
  for (const Definition& command : commands) {
    names += "    " + single_quoted(command.summary.name + ":" + command.summary.purpose) + "\n";
    options += fmt::format("    {})\n      options=(\n", single_quoted(command.summary.name));
    for (const FlagGroup& group : command.flags.groups()) {
      for (const Flag& flag : group.flags) {
        options += "        " + single_quoted("--" + flag.name + ":" + flag.help) + "\n";
      }
    }
    options += "      ) ;;\n";
  }
  return fmt::format(R"(#compdef {0}
# zsh completion for {0}, generated by '{0} completion zsh'
_{0}() {{
  local -a commands options shown
  local entry name command=""
  commands=(
{1}  )
  for entry in $commands; do
    name=${{entry%%:*}}
    if [[ "$words[2] $words[3]" == "$name" || "$words[2]" == "$name" ]]; then
      command=$name
    fi
  done
  if (( CURRENT == 2 )); then
    for entry in $commands; do
      name=${{entry%%:*}}
      shown+=("${{name%% *}}:${{entry#*:}}")
    done
    _describe command shown
  elif [[ -z $command || ( $CURRENT == 3 && $command == *" "* ) ]]; then
    for entry in $commands; do
      [[ $entry == "$words[2] "* ]] && shown+=("${{entry#* }}")
    done
    _describe command shown
  elif [[ $PREFIX == -* ]]; then
    case $command in
{2}    esac
    _describe -o option options
  else
    _files
  fi
}}
compdef _{0} {0}
)",
                     program.name, names, options);
}

std::string fish_completion(const Program& program, const std::vector<Definition>& commands) {
  std::string text =
      fmt::format("# fish completion for {0}, generated by '{0} completion fish'\n", program.name);
  for (const Definition& command : commands) {
    const std::string& name = command.summary.name;
    const std::string first = first_word(name);
    const bool is_single = first == name;
    // Of a command of two words the condition is both of them.
    const std::string seen = is_single ? fmt::format("__fish_seen_subcommand_from {}", name)
                                       : fmt::format(
                                             "__fish_seen_subcommand_from {}; and "
                                             "__fish_seen_subcommand_from {}",
                                             first, name.substr(first.size() + 1));
    text += fmt::format("complete -c {} -n __fish_use_subcommand -f -a {} -d {}\n", program.name,
                        first, single_quoted(is_single ? command.summary.purpose : first + " …"));
    if (!is_single) {
      text += fmt::format("complete -c {} -n {} -f -a {} -d {}\n", program.name,
                          single_quoted("__fish_seen_subcommand_from " + first),
                          name.substr(first.size() + 1), single_quoted(command.summary.purpose));
    }
    for (const FlagGroup& group : command.flags.groups()) {
      for (const Flag& flag : group.flags) {
        text += fmt::format(
            "complete -c {} -n {} -l {}{}{}{} -d {}\n", program.name, single_quoted(seen),
            flag.name, flag.letter == 0 ? "" : fmt::format(" -s {}", flag.letter),
            flag.value.empty() ? "" : " -r",
            flag.choices.empty() ? "" : fmt::format(" -f -a '{}'", fmt::join(flag.choices, " ")),
            single_quoted(flag.help));
      }
    }
  }
  return text;
}

}  // namespace

std::string completion_for(const std::string& shell, const Program& program,
                           const std::vector<Definition>& commands) {
  return shell == "bash"   ? bash_completion(program, commands)
         : shell == "zsh"  ? zsh_completion(program, commands)
         : shell == "fish" ? fish_completion(program, commands)
                           : "";
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
