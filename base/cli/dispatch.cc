#include "base/cli/dispatch.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>

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
  std::ranges::replace_if(line, [](char c) { return c >= 0 && c < ' '; }, ' ');
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
  // Help is given to whoever asks for it, whatever else is wrong with the line.
  if (asks_for(arguments, "--help", 'h')) {
    context.out << help_text(program, definition, context.out_terminal.width);
    return ExitCode::Done;
  }
  if (asks_for(arguments, "--version", 0)) {
    return print_version(program, context);
  }
  const std::string& name = definition.summary.name;
  if (const Result<> parsed = parse(definition.flags, arguments); !parsed) {
    return complain(program, name, parsed.error(), context);
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
  const Result<ExitCode> code = command->run(context);
  return code ? *code : complain(program, name, code.error(), context);
}

ExitCode choose(const Program& program, std::vector<std::string> words, Context& context) {
  const std::vector<Registered> commands = registered(program.commands);
  if (words.empty()) {
    context.err << overview_of(program, commands, context.err_terminal.width);
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
  Context context{.out = std::cout,
                  .err = std::cerr,
                  .clock = clock,
                  .root = sys::Root(),
                  .environment = variable,
                  .out_terminal = terminal_of(STDOUT_FILENO, variable),
                  .err_terminal = terminal_of(STDERR_FILENO, variable),
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

std::vector<Registered> registered(const Registry& registry) {
  std::vector<Registered> commands;
  for (const CommandFactory& make : registry) {
    commands.push_back({make, make()->summary()});
  }
  return commands;
}

std::optional<Match> match(const std::vector<Registered>& commands,
                           const std::vector<std::string>& words) {
  for (const Registered& command : commands) {
    if (const std::size_t matched = words_matched(command.summary.name, words)) {
      return Match{&command, matched};
    }
  }
  return std::nullopt;
}

Error unknown_command(const std::vector<Registered>& commands,
                      const std::vector<std::string>& words) {
  std::vector<std::string> names;
  std::vector<std::string> family;
  for (const Registered& command : commands) {
    names.push_back(command.summary.name);
    if (command.summary.name.starts_with(words[0] + " ")) {
      family.push_back("'" + command.summary.name + "'");
    }
  }
  const bool has_second = words.size() > 1 && !words[1].starts_with('-');
  const std::string two_words = has_second ? words[0] + " " + words[1] : words[0];
  if (const std::string near = nearest(two_words, names); !near.empty()) {
    return {ErrorKind::Usage,  "",
            two_words,         0,
            "unknown command", fmt::format("did you mean '{}'?", near)};
  }
  if (!family.empty()) {
    return {ErrorKind::Usage,
            "",
            two_words,
            0,
            has_second ? "unknown command" : "needs a second word",
            fmt::format("there is {}", fmt::join(family, ", "))};
  }
  const std::string near = nearest(words[0], names);
  return {ErrorKind::Usage,
          "",
          words[0],
          0,
          "unknown command",
          near.empty() ? "'--help' lists them" : fmt::format("did you mean '{}'?", near)};
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

bool write_page(const std::string& folder, std::string page, const std::string& text) {
  std::ranges::replace(page, ' ', '-');
  std::ofstream file(folder + "/" + page + ".1");
  file << text;
  return file.flush().good();
}

Result<> write_manual(const Program& program, const std::vector<Registered>& commands,
                      const std::string& folder) {
  bool good = write_page(folder, program.name, manual_overview(program, summaries(commands)));
  for (const Definition& definition : definitions(commands)) {
    good = good && write_page(folder, program.name + "-" + definition.summary.name,
                              manual_page(program, definition));
  }
  if (!good) {
    return fail(ErrorKind::NotFound, "man-pages", folder, "cannot be written to",
                "give an existing folder");
  }
  return {};
}

}  // namespace

std::string overview_of(const Program& program, const std::vector<Registered>& commands,
                        int width) {
  return overview(program, summaries(commands), width);
}

ExitCode print_version(const Program& program, Context& context) {
  fmt::print(context.out, "{} {}\n", program.name, program.version);
  return ExitCode::Done;
}

Result<std::optional<ExitCode>> run_built_in(const Program& program,
                                             const std::vector<Registered>& commands,
                                             const std::vector<std::string>& words,
                                             Context& context) {
  if (words[0] == "--help" || words[0] == "-h" || (words[0] == "help" && words.size() == 1)) {
    context.out << overview_of(program, commands, context.out_terminal.width);
    return ExitCode::Done;
  }
  if (words[0] == "--version") {
    return print_version(program, context);
  }
  if (words == std::vector<std::string>{"completion", "bash"}) {
    context.out << bash_completion(program, definitions(commands));
    return ExitCode::Done;
  }
  if (words[0] == "man-pages" && words.size() == 2) {
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
