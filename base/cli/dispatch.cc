#include "base/cli/dispatch.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/cli/built_in.h"
#include "base/cli/common_flags.h"
#include "base/cli/lookup.h"

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
  fmt::print(context.err, "{}: {}{}{}\n", program.name, command, command.empty() ? "" : ": ", line);
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
                  .err_terminal = terminal_of(STDERR_FILENO, variable)};
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  return static_cast<int>(dispatch(program, words, context));
}

}  // namespace chokepoint::cli
