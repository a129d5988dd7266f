// What a stream can show: whether a person sits behind it, how wide it is, whether colour is
// welcome. A value.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace chokepoint::cli {

struct Terminal {
  bool interactive = false;
  bool color = false;
  int width = 80;
};

// Colour only on a terminal, and not under NO_COLOR or TERM=dumb. COLUMNS overrides the width.
Terminal terminal_of(
    int fd, const std::function<std::optional<std::string>(const std::string&)>& environment);

}  // namespace chokepoint::cli
