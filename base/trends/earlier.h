// Earlier measurements of what was just measured, from the user's history. Blocks on the history;
// a history that cannot be read says nothing, and is no error.
#pragma once

#include <span>
#include <vector>

#include "base/cli/context.h"
#include "base/history/place.h"
#include "base/history/row.h"
#include "base/trends/standing.h"

namespace chokepoint::trends {

std::vector<Standing> standings_in(const history::Flags& flags, const cli::Context& context,
                                   std::span<const history::Row> rows);

}  // namespace chokepoint::trends
