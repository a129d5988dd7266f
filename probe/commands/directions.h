// Tables with a column for each direction of a test. One thread.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/table.h"
#include "base/control/limits.h"

namespace chokepoint::probe {

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
