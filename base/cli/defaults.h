// Defaults of options, set once for a host or a user instead of being typed:
//
//   the command line              first
//   CHOKEPOINT_KEY_FILE           …
//   ~/.config/chokepoint.toml     ($XDG_CONFIG_HOME)
//   /etc/chokepoint.toml          last
//
// The files hold lines as `key-file = "/etc/chokepoint.key"`; defaults() has what may stand there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/sys/error.h"

namespace chokepoint::cli {

struct Default {
  std::string_view option;    // its long name
  std::string_view commands;  // that take it, by their first words
  // One of these on the command line rules it out; the option itself is stored after it.
  std::vector<std::string_view> instead = {};
};

const std::vector<Default>& defaults();

// Stores them in the flags of `command`, before its command line is parsed. An error is one of the
// files or of a variable, and names it.
Result<> apply_defaults(const std::string& command, const Flags& flags,
                        const std::vector<std::string>& arguments, const Context& context);

}  // namespace chokepoint::cli
