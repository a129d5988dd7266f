// The directions of a test: the flags that choose them, and tables with a column for each. One
// thread.
#pragma once

#include <fmt/ostream.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/table.h"
#include "base/control/limits.h"
#include "base/math/units.h"
#include "base/sys/error.h"

namespace chokepoint::probe {

// Of --send, --receive and --both; without any of them it is Send.
inline Result<control::Direction> direction_of(bool send, bool receive, bool both) {
  if (send + receive + both > 1) {
    return fail(ErrorKind::Usage, "", "--send, --receive, --both", "give only one of them");
  }
  return receive ? control::Direction::Receive
         : both  ? control::Direction::Both
                 : control::Direction::Send;
}

// Fits a pace to the server's limit.
inline void fit_pace(std::optional<double>& bits_per_s, const control::Limits& limits,
                     const cli::Context& context) {
  const std::optional<double>& most = limits.rate_bits_per_s;
  if (most && bits_per_s.value_or(*most + 1) > *most) {
    bits_per_s = most;
    fmt::print(context.err, "the server grants {} at most: paced to that\n",
               math::format_rate(*most));
  }
}

// A direction that goes one way, as the probes' pages name it.
inline std::string direction_text(control::Direction direction) {
  return direction == control::Direction::Send ? "to the peer" : "from the peer";
}

// The title of a row, and its text for a direction.
template <class Outcome>
using DirectionRows =
    std::vector<std::pair<std::string, std::function<std::string(const Outcome& outcome)>>>;

template <class Outcome>
void print_directions(const cli::Context& context, const std::vector<Outcome>& directions,
                      const DirectionRows<Outcome>& rows) {
  std::vector<cli::Column> columns{{""}};
  for (const Outcome& outcome : directions) {
    columns.push_back({direction_text(outcome.direction)});
  }
  cli::Table table(columns);
  for (const auto& [title, text] : rows) {
    std::vector<cli::Cell> cells{{title}};
    for (const Outcome& outcome : directions) {
      cells.emplace_back(text(outcome));
    }
    table.add(std::move(cells));
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
}

}  // namespace chokepoint::probe
