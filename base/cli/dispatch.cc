#include "base/cli/dispatch.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>

#include "base/cli/defaults.h"
#include "base/cli/output.h"
#include "base/cli/terminal_stream.h"
#include "base/cli/text.h"

namespace chokepoint::cli {
namespace {

ExitCode exit_code(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Usage:
      return ExitCode::Usage;
    case ErrorKind::Interrupted:
      return ExitCode::Interrupted;
    default:
      return ExitCode::Failed;
  }
}

ExitCode complain(const Program& program, std::string_view command, const Error& error,
                  Context& context) {
  // An error is one line, whatever a file or a peer put into its words.
  std::string line = describe(error);
  std::ranges::replace_if(line, [](unsigned char c) { return c < ' '; }, ' ');
  fmt::print(context.err, "{}: {}{}{}\n", program.name, command, command.empty() ? "" : ": ",
             printable(line));
  return exit_code(error);
}

bool asks_for(const std::vector<std::string>& words, std::string_view flag, char letter) {
  const auto end = std::ranges::find(words, "--");
  return std::any_of(words.begin(), end, [&](const std::string& word) {
    return word == flag || (letter != 0 && word == std::string{'-', letter});
  });
}

ExitCode run(const Program& program, const Registered& registered,
             const std::vector<std::string>& arguments, Context& context) {
  const std::unique_ptr<Command> command = registered.make();
  CommonFlags common;
  const Definition definition = define(*command, common);
  // What a host sets for all that run there is not for who runs it with rights of its file.
  const Result<> defaulted =
      context.has_file_privileges
          ? Result<>()
          : apply_defaults(definition.summary.name, definition.flags, arguments, context);
  const Result<Notices> parsed = parse(definition.flags, arguments);
  // --help is answered whatever else is wrong with the command line. Behind the words of a command
  // to start it belongs to that command.
  if (common.help || (!parsed && asks_for(arguments, "--help", 'h'))) {
    context.out << help_text(program, definition, context.out_terminal.width);
    return ExitCode::Done;
  }
  if (common.version || (!parsed && asks_for(arguments, "--version", 0))) {
    return print_version(program, context);
  }
  const std::string& name = definition.summary.name;
  if (!parsed) {
    return complain(program, name, parsed.error(), context);
  }
  if (!defaulted) {
    return complain(program, name, defaulted.error(), context);
  }
  context.json = common.json;
  context.quiet = common.quiet;
  if (context.has_file_privileges && !definition.summary.captures) {
    return complain(program, name,
                    {ErrorKind::Permission, "", "", 0,
                     "this file was given privileges, which others could make use of here",
                     "take them away: sudo setcap -r \"$(which chokepoint)\"; what captures is "
                     "chokepoint-capture, which alone may have cap_net_raw"},
                    context);
  }
  if (!context.quiet) {
    for (const std::string& notice : *parsed) {
      fmt::print(context.err, "{}: {}: {}\n", program.name, name, notice);
    }
  }
  const Result<ExitCode> code = command->run(context);
  return code ? *code : complain(program, name, code.error(), context);
}

ExitCode choose(const Program& program, std::vector<std::string> words, Context& context) {
  const std::vector<Registered> commands = registered(program);
  if (words.empty()) {
    context.err << overview(program, commands, context.err_terminal.width);
    return ExitCode::Usage;
  }
  const Result<std::optional<ExitCode>> built_in = run_built_in(program, commands, words, context);
  if (!built_in) {
    return complain(program, "", built_in.error(), context);
  }
  if (*built_in) {
    return **built_in;
  }
  if (words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  const std::optional<Match> found = match(commands, words);
  if (!found) {
    return complain(program, "", unknown_command(commands, words), context);
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(found->words));
  return run(program, *found->command, words, context);
}

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

ExitCode dispatch(const Program& program, const std::vector<std::string>& words, Context& context) {
  context.version = program.version;
  try {
    const ExitCode code = choose(program, words, context);
    // A full disk behind "> file" must not pass for success.
    if (!context.out.flush().good()) {
      const Error error{ErrorKind::Io, "", "standard output", 0, "cannot be written"};
      return complain(program, "", error, context);
    }
    return code;
  } catch (const std::exception& error) {
    return complain(program, "", {ErrorKind::Io, "", "internal error", 0, error.what()}, context);
  }
}

int dispatch(const Program& program, int argc, char** argv) {
  const sys::SystemClock clock;
  const Terminal out_terminal = terminal_of(STDOUT_FILENO, variable);
  const Terminal err_terminal = terminal_of(STDERR_FILENO, variable);
  TerminalStream shown_out(std::cout);
  TerminalStream shown_err(std::cerr);
  Context context{.out = out_terminal.interactive ? shown_out : std::cout,
                  .err = err_terminal.interactive ? shown_err : std::cerr,
                  .clock = clock,
                  .root = sys::Root(),
                  .environment = variable,
                  .out_terminal = out_terminal,
                  .err_terminal = err_terminal,
                  .has_file_privileges = getauxval(AT_SECURE) != 0};
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  return static_cast<int>(dispatch(program, words, context));
}

namespace {

// How many of the words name this command: all of its own, or none.
std::size_t words_matched(const std::string& name, const std::vector<std::string>& words) {
  const std::size_t space = name.find(' ');
  if (space == std::string::npos) {
    return words[0] == name ? 1 : 0;
  }
  return words.size() > 1 && words[0] == name.substr(0, space) && words[1] == name.substr(space + 1)
             ? 2
             : 0;
}

}  // namespace

std::vector<Registered> registered(const Program& program) {
  std::vector<Registered> commands;
  for (const Section& section : program.sections) {
    for (const CommandFactory& make : section.commands) {
      commands.push_back({make, make()->summary(), section.title});
    }
  }
  return commands;
}

std::optional<Match> match(const std::vector<Registered>& commands,
                           const std::vector<std::string>& words) {
  std::optional<Match> longest;
  for (const Registered& command : commands) {
    const std::size_t matched = words_matched(command.summary.name, words);
    if (matched > (longest ? longest->words : 0)) {
      longest = Match{&command, matched};
    }
  }
  return longest;
}

namespace {

Error usage(std::string subject, std::string reason, std::string next_step) {
  return {ErrorKind::Usage, "", std::move(subject), 0, std::move(reason), std::move(next_step)};
}

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::string did_you_mean(const std::string& name) {
  return fmt::format("did you mean '{}'?", name);
}

// What other tools' users type, and what it is called here.
std::string known_elsewhere(const std::string& word) {
  struct Known {
    std::string_view word;
    std::string_view command;
  };
  constexpr std::array kKnown{Known{"iperf3", "probe tcp"},
                              Known{"iperf", "probe tcp"},
                              Known{"nuttcp", "probe tcp"},
                              Known{"ping", "probe latency"},
                              Known{"traceroute", "probe path"},
                              Known{"mtr", "probe path"},
                              Known{"tcpdump", "capture"},
                              Known{"all_reduce_perf", "probe collective"},
                              Known{"ib_write_bw", "rdma write"},
                              Known{"ib_read_bw", "rdma read"},
                              Known{"ib_send_bw", "rdma send"},
                              Known{"fio", "probe storage"},
                              Known{"show", "record show"},
                              Known{"list", "runs"},
                              Known{"ls", "runs"},
                              Known{"watch", "run"},
                              Known{"start", "run"},
                              Known{"exec", "run"}};
  const auto* const found = std::ranges::find(kKnown, word, &Known::word);
  return found == kKnown.end() ? "" : std::string(found->command);
}

// The second word alone, too: "tcp" for "probe tcp".
std::string probably_meant(const std::vector<std::string>& names, const std::string& word) {
  for (const std::string& name : names) {
    if (name.ends_with(" " + word)) {
      return name;
    }
  }
  if (const std::string known = known_elsewhere(word); !known.empty()) {
    return known;
  }
  return nearest(word, names);
}

}  // namespace

Error unknown_command(const std::vector<Registered>& commands,
                      const std::vector<std::string>& words) {
  std::vector<std::string> names{"--version", "--help", "completion bash"};
  std::vector<std::string> seconds;
  std::vector<std::string> family;
  const std::string first = lowered(words[0]);
  for (const Registered& command : commands) {
    const std::string& name = command.summary.name;
    names.push_back(name);
    if (name.starts_with(first + " ")) {
      family.push_back("'" + name + "'");
      seconds.push_back(name.substr(first.size() + 1));
    }
  }
  const bool has_second = words.size() > 1 && !words[1].starts_with('-');
  if (!family.empty() && !has_second) {
    return usage(words[0], "needs a second word",
                 fmt::format("there is {}", fmt::join(family, ", ")));
  }
  if (!family.empty()) {
    const std::string near = nearest(lowered(words[1]), seconds);
    return usage(words[0] + " " + words[1], "unknown command",
                 near.empty() ? fmt::format("there is {}", fmt::join(family, ", "))
                              : did_you_mean(first + " " + near));
  }
  if (words[0] == "--json" || words[0] == "-q" || words[0] == "--quiet") {
    return usage(words[0], "stands before the command", "options stand after it");
  }
  const std::string near = probably_meant(names, first);
  return usage(words[0].empty() ? "''" : words[0], "unknown command",
               near.empty() ? "'--help' lists them" : did_you_mean(near));
}

namespace {

std::vector<Summary> summaries(const std::vector<Registered>& commands) {
  std::vector<Summary> list;
  for (const Registered& command : commands) {
    list.push_back(command.summary);
  }
  return list;
}

std::vector<Definition> definitions(const std::vector<Registered>& commands) {
  std::vector<Definition> list;
  for (const Registered& entry : commands) {
    const std::unique_ptr<Command> command = entry.make();
    CommonFlags common;
    list.push_back(define(*command, common));
  }
  return list;
}

Result<> write_page(const std::string& folder, std::string page, const std::string& text) {
  std::ranges::replace(page, ' ', '-');
  TRY(const std::unique_ptr<Output> file, open_own_file(folder + "/" + page + ".1"));
  file->write(text);
  return file->finish();
}

Result<> write_manual(const Program& program, const std::vector<Registered>& commands,
                      const std::string& folder) {
  Result<> written =
      write_page(folder, program.name, manual_overview(program, summaries(commands)));
  for (const Definition& definition : definitions(commands)) {
    if (written) {
      written = write_page(folder, program.name + "-" + definition.summary.name,
                           manual_page(program, definition));
    }
  }
  if (!written) {
    written.error().operation = "man-pages";
    written.error().next_step = "give an existing folder that can be written to";
  }
  return written;
}

}  // namespace

ExitCode print_version(const Program& program, Context& context) {
  fmt::print(context.out, "{} {}\n", program.name, program.version);
  return ExitCode::Done;
}

Result<std::optional<ExitCode>> run_built_in(const Program& program,
                                             const std::vector<Registered>& commands,
                                             const std::vector<std::string>& words,
                                             Context& context) {
  const auto is_help = [](const std::string& word) {
    return word == "--help" || word == "-h" || word == "help";
  };
  const auto is_version = [](const std::string& word) {
    return word == "--version" || word == "-v" || word == "-V" || word == "version";
  };
  const bool asks_help = is_help(words[0]) || (words.size() > 1 && is_help(words[1]));
  if (is_help(words[0]) && (words.size() == 1 || is_help(words[1]))) {
    context.out << overview(program, commands, context.out_terminal.width);
    return ExitCode::Done;
  }
  if (is_version(words[0])) {
    return print_version(program, context);
  }
  if (asks_help && words.size() == 2) {
    const std::string& name = is_help(words[0]) ? words[1] : words[0];
    const bool is_command = match(commands, {name}).has_value();  // and has help of its own
    const std::string family =
        is_command ? "" : family_overview(program, commands, name, context.out_terminal.width);
    context.out << family;
    return family.empty() ? std::nullopt : std::optional(ExitCode::Done);
  }
  // Asked by what the shells were given, at each press of a key.
  if (words.size() == 2 && words[0] == "completion" && words[1] == "runs" && program.run_names) {
    context.out << fmt::format("{}", fmt::join(program.run_names(), "\n")) << "\n";
    return ExitCode::Done;
  }
  if (words[0] == "completion") {
    const std::string text = words.size() == 2
                                 ? completion_for(words[1], program, definitions(commands))
                                 : std::string();
    if (text.empty()) {
      return fail(ErrorKind::Usage, "", "completion", "for which shell?",
                  fmt::format("{} completion bash, zsh or fish", program.name));
    }
    context.out << text;
    return ExitCode::Done;
  }
  if (words[0] == "man-pages") {
    if (words.size() != 2 || words[1].starts_with('-')) {
      return fail(ErrorKind::Usage, "", "man-pages", "where to?",
                  fmt::format("{} man-pages FOLDER", program.name));
    }
    const Result<> written = write_manual(program, commands, words[1]);
    return written ? Result<std::optional<ExitCode>>(ExitCode::Done)
                   : std::unexpected(written.error());
  }
  return std::nullopt;
}

Definition define(Command& command, CommonFlags& common) {
  Definition definition{command.summary(), {}};
  command.define(definition.flags);
  definition.flags.group("Common");
  if (definition.summary.json) {
    definition.flags.toggle("json", &common.json,
                            "print one JSON document on standard output, nothing else");
  }
  definition.flags
      .toggle("quiet,q", &common.quiet, "print errors only, no progress and no messages")
      .toggle("help,h", &common.help, "this help")
      .toggle("version", &common.version, "the version");
  return definition;
}

}  // namespace chokepoint::cli
