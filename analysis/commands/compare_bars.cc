#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>

#include "analysis/commands/compare_words.h"
#include "analysis/commands/share_bar.h"
#include "base/cli/table.h"
#include "base/cli/text.h"

namespace chokepoint::analysis {
namespace {

constexpr double kGroupBarLetters = 40;

double most_of(const Comparison& comparison, Figure figure) {
  double most = 0;
  for (const Group& group : comparison.groups) {
    most = std::max(most, group[figure] ? group[figure]->mean : 0);
  }
  return most;
}

// Rows stand together as long as they have the same of the first key, as bars do over a batch size.
bool begins_bundle(const Comparison& comparison, std::size_t group) {
  return group > 0 && comparison.keys.size() > 1 &&
         comparison.groups[group].values.front() != comparison.groups[group - 1].values.front();
}

}  // namespace

void print_bars(std::ostream& out, const cli::Terminal& terminal, const Shown& shown) {
  const Figure figure = *shown.bars;
  const Comparison& comparison = shown.comparison;
  const Scale scale = scale_of(comparison, figure);
  const double most = most_of(comparison, figure);
  cli::Table table({{traits_of(figure).title}, {scale.unit, cli::Align::Right}, {""}});
  for (std::size_t at = 0; at < comparison.groups.size(); ++at) {
    const Group& group = comparison.groups[at];
    if (begins_bundle(comparison, at)) {
      table.add({"", "", ""});
    }
    const std::optional<Estimate>& told = group[figure];
    table.add({cli::printable(group.name), told ? written(told->mean, scale) : "–",
               told && most > 0 ? share_bar(told->mean / most, kGroupBarLetters) : ""});
  }
  out << '\n';
  table.print(out, terminal);
}

}  // namespace chokepoint::analysis
