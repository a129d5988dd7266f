// Everything that is generated from a command's definition: help, man page, bash completion.
// Pure functions.
#pragma once

#include <string>

#include "base/cli/command.h"

namespace chokepoint::cli {

// A command with its flags defined, the common ones among them.
struct Definition {
  Summary summary;
  Flags flags;
};

// "doctor [options]", "record show [options] DIR…"
std::string synopsis(const Definition& definition);

std::string help_text(const Program& program, const Definition& definition, int width);
std::string overview(const Program& program, const std::vector<Summary>& commands, int width);

// roff, section 1. The program's own page lists the commands; a command's page is its help.
std::string manual_page(const Program& program, const Definition& definition);
std::string manual_overview(const Program& program, const std::vector<Summary>& commands);

std::string bash_completion(const Program& program, const std::vector<Definition>& commands);

}  // namespace chokepoint::cli
