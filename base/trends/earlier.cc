#include "base/trends/earlier.h"

#include <algorithm>
#include <string>

#include "base/trends/lately.h"

namespace chokepoint::trends {
namespace {

// What of all rows is to be read: that which they have in common.
history::Wanted wanted_for(std::span<const history::Row> rows) {
  history::Wanted wanted{.subject = history::text_of(rows.front().series.subject),
                         .metric = rows.front().series.metric};
  std::int64_t first_ns = rows.front().measured.wall_ns;
  for (const history::Row& row : rows) {
    if (row.series.subject != rows.front().series.subject) {
      wanted.subject.clear();
    }
    if (row.series.metric != rows.front().series.metric) {
      wanted.metric.clear();
    }
    first_ns = std::min(first_ns, row.measured.wall_ns);
  }
  wanted.since_ns = first_ns;
  wanted.before = level_before(first_ns);
  return wanted;
}

}  // namespace

std::vector<Standing> standings_in(const history::Flags& flags, const cli::Context& context,
                                   std::span<const history::Row> rows) {
  const auto place = history::place_of(flags, context);
  if (!place || rows.empty()) {
    return {};
  }
  const auto store = history::open_to_read(*place);
  if (!store) {
    return {};
  }
  const auto earlier = (*store)->read(wanted_for(rows));
  return earlier ? standings_of(rows, *earlier) : std::vector<Standing>();
}

}  // namespace chokepoint::trends
