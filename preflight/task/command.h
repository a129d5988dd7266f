// A task as a command line of this program: its own subcommands with checked names and numbers.
// Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "preflight/task/task.h"

namespace chokepoint::preflight {

// "probe tcp", as error lines begin; empty for Names, which is no command.
std::string_view command_name(TaskKind kind);

// Where a key is wanted it is read from standard input.
std::vector<std::string> command_of(const Task& task, const std::string& program, bool with_key);

}  // namespace chokepoint::preflight
