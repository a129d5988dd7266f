// Which history commands write to and read: a file, or a server of PostgreSQL. Unless a user says
// otherwise it is a file in the user's state folder.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/history/store.h"

namespace chokepoint::history {

// What stands in place of a history's name where nothing is to be remembered.
inline constexpr std::string_view kNone = "none";

// For the environment of a command whose results are another one's to remember.
inline std::pair<std::string, std::string> nothing() {
  return {"CHOKEPOINT_HISTORY", std::string(kNone)};
}

struct Flags {
  std::string place = {};  // empty: the user's own
  bool is_off = false;
};

// --history, whose default is set as those of other options, and --no-history.
void define(cli::Flags& flags, Flags& history);
// --history alone, for commands that read.
void define_to_read(cli::Flags& flags, Flags& history);

// nullopt where nothing is to be remembered: by the user's wish, or since there is no folder of a
// user.
std::optional<std::string> place_of(const Flags& history, const cli::Context& context);

Result<std::unique_ptr<Store>> open(const std::string& place);
// What cannot be added to a server now waits in the user's state folder: add() is an Error that
// says so, and the next command that reaches the server adds it.
Result<std::unique_ptr<Store>> open_to_add(const std::string& place, const cli::Context& context);
// An Error where there is none yet.
Result<std::unique_ptr<Store>> open_to_read(const std::string& place);

// Adds the rows of a command that has ended. Whatever fails is no error of the command: it is told
// in a line on standard error, where the user named the history.
void remember(const Flags& history, const Batch& batch, const cli::Context& context);

}  // namespace chokepoint::history
