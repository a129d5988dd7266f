// Which command the first words of a command line name, and what was probably meant where they
// name none. Pure functions over the registry.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/sys/error.h"

namespace chokepoint::cli {

struct Registered {
  CommandFactory make;
  Summary summary;
};

std::vector<Registered> registered(const Registry& registry);

struct Match {
  const Registered* command;  // of the list that was searched
  std::size_t words;          // how many of the words name it
};

std::optional<Match> match(const std::vector<Registered>& commands,
                           const std::vector<std::string>& words);

// Why no command matched, and the name that was probably meant. `words` is not empty.
Error unknown_command(const std::vector<Registered>& commands,
                      const std::vector<std::string>& words);

}  // namespace chokepoint::cli
