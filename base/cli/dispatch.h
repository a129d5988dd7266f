// From argv to an exit code: finds the command, parses its flags, runs it, prints the one line of
// an error. The only place that prints errors and decides exit codes. Called by main.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/sys/error.h"

namespace chokepoint::cli {

// A command with its flags defined, the common ones among them.
struct Definition {
  Summary summary;
  Flags flags;
};

// "doctor [options]", "record show [options] DIR…"
std::string synopsis(const Definition& definition);

std::string help_text(const Program& program, const Definition& definition, int width);

// roff, section 1. The program's own page lists the commands; a command's page is its help.
std::string manual_page(const Program& program, const Definition& definition);
std::string manual_overview(const Program& program, const std::vector<Summary>& commands);

// For "bash", "zsh" or "fish".
std::string completion_for(const std::string& shell, const Program& program,
                           const std::vector<Definition>& commands);

// Words after the program's name. Never throws.
ExitCode dispatch(const Program& program, const std::vector<std::string>& words, Context& context);

// The same over the process's own streams, clock, root and environment.
int dispatch(const Program& program, int argc, char** argv);

// Which command the first words of a command line name, and what was probably meant where they
// name none. Pure functions over the registry.

struct Registered {
  CommandFactory make;
  Summary summary;
  std::string section;
};

std::vector<Registered> registered(const Program& program);

struct Match {
  const Registered* command;  // of the list that was searched
  std::size_t words;          // how many of the words name it
};

std::optional<Match> match(const std::vector<Registered>& commands,
                           const std::vector<std::string>& words);

// Why no command matched, and the name that was probably meant. `words` is not empty.
Error unknown_command(const std::vector<Registered>& commands,
                      const std::vector<std::string>& words);

// What the program prints without any command: overview, version, completion, man pages.

std::string overview(const Program& program, const std::vector<Registered>& commands, int width);
// The commands of one first word, as "probe"; empty if there is no such.
std::string family_overview(const Program& program, const std::vector<Registered>& commands,
                            const std::string& first, int width);

ExitCode print_version(const Program& program, Context& context);

// Nothing where the words ask for something else.
Result<std::optional<ExitCode>> run_built_in(const Program& program,
                                             const std::vector<Registered>& commands,
                                             const std::vector<std::string>& words,
                                             Context& context);

// The flags that every command knows, defined once.

struct CommonFlags {
  bool help = false;
  bool version = false;
  bool json = false;
  bool quiet = false;
};

// The command's own flags and the common ones behind them, bound to `common`.
Definition define(Command& command, CommonFlags& common);

}  // namespace chokepoint::cli
