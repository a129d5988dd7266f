// The flags that every command knows, defined once.
#pragma once

#include "base/cli/help.h"

namespace chokepoint::cli {

struct CommonFlags {
  bool help = false;
  bool version = false;
  bool json = false;
  bool quiet = false;
};

// The command's own flags and the common ones behind them, bound to `common`.
Definition define(Command& command, CommonFlags& common);

}  // namespace chokepoint::cli
