#include "analysis/timeline/clock_remarks.h"

#include <fmt/format.h>

#include <cmath>

namespace chokepoint::analysis {
namespace {

constexpr double kAwry = 1e9;     // ns that a wall clock may be off what packets say
constexpr double kCovered = 0.5;  // of a run
constexpr double kManyNs = 1e6;

std::string time_text(double ns) {
  if (ns >= 1e9) return fmt::format("{:.3g} s", ns / 1e9);
  return ns >= kManyNs ? fmt::format("{:.3g} ms", ns / 1e6) : fmt::format("{:.0f} us", ns / 1e3);
}

std::string how_known(const ClockLink& link, const std::string& who) {
  const std::string error = link.error_ns ? time_text(*link.error_ns) : "";
  switch (link.source) {
    case ClockSource::Offsets:
      return fmt::format("clocks of {} are only known to {}, by a probe: no packets that both saw",
                         who, error);
    case ClockSource::WallClock:
      return fmt::format(
          "clocks of {} are only known to some {}, by their wall clocks: no packets that both saw",
          who, error);
    case ClockSource::None:
      return fmt::format(
          "clocks of {} are not known: no packets that both saw, no wall clocks by which the two "
          "ran at the same time; taken to begin together",
          who);
    default:
      break;
  }
  if (!link.is_one_way) return {};
  return fmt::format(
      "clocks of {} are only known to {}: packets that both saw went one way only, so half of the "
      "round trip is taken",
      who, error);
}

}  // namespace

std::vector<std::string> remarks_on(const ClockLink& link, const NodeData& first,
                                    const NodeData& second) {
  std::vector<std::string> remarks;
  const std::string who = fmt::format("{} and {}", first.name, second.name);
  if (std::string how = how_known(link, who); !how.empty()) remarks.push_back(std::move(how));
  if (link.source != ClockSource::Marks && link.source != ClockSource::Collectives) return remarks;
  if (link.covered && *link.covered < kCovered) {
    remarks.push_back(fmt::format(
        "clocks of {} are known from {:.0f} % of the run: no other packets that both saw", who,
        100 * *link.covered));
  }
  const std::optional<std::int64_t> wall_ns = wall_offset_ns(first, second);
  if (!wall_ns) return remarks;
  const auto awry_ns = static_cast<double>(link.map.shift_ns(first.span.start_ns) - *wall_ns);
  if (std::abs(awry_ns) > kAwry) {
    remarks.push_back(
        fmt::format("wall clocks of {} are {} apart; packets that both saw are believed", who,
                    time_text(std::abs(awry_ns))));
  }
  return remarks;
}

}  // namespace chokepoint::analysis
