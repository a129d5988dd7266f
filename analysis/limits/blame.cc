#include "analysis/limits/blame.h"

#include <algorithm>
#include <map>

#include "analysis/limits/packets.h"
#include "analysis/limits/sender.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kCellNs = 20'000'000;  // as often as sockets are read

std::vector<LimitedSpan> limits_of(const DirectionView& view, const DirectionFacts& facts) {
  const auto way = static_cast<std::size_t>(view.direction);
  if (view.at_sender != nullptr && view.at_sender->sockets.at(way).size() > 1) {
    return limits_of_sender(view.at_sender->sockets.at(way), facts);
  }
  return limits_of_packets(view.best().packets.at(way), facts);
}

// Cell by cell of the common clock.
using Cells = std::map<std::int64_t, LimitTimes>;

// What was under way is taken to have been so while the job communicated, as far as that goes.
void spread(const LimitedSpan& limited, Span common, std::span<const Span> communicating,
            Cells& cells) {
  const auto communicated = static_cast<double>(covered_ns(communicating, common));
  const double busy = limited.times.sum();
  if (communicated <= 0 || busy <= 0) {
    return;
  }
  const double density = std::min(1.0, busy / communicated) / busy;
  for (std::int64_t cell = common.start_ns / kCellNs; cell * kCellNs < common.end_ns; ++cell) {
    const Span part{std::max(common.start_ns, cell * kCellNs),
                    std::min(common.end_ns, (cell + 1) * kCellNs)};
    const auto covered = static_cast<double>(covered_ns(communicating, part));
    if (covered > 0) {
      cells[cell] += limited.times * (density * covered);
    }
  }
}

// Those of the rest that a span can touch; `rest` keeps what later ones can.
std::span<const Span> next_touching(std::span<const Span>& rest, Span part) {
  while (!rest.empty() && rest.front().end_ns <= part.start_ns) {
    rest = rest.subspan(1);
  }
  std::size_t count = 0;
  while (count < rest.size() && rest[count].start_ns < part.end_ns) {
    ++count;
  }
  return rest.first(count);
}

Cells cells_of(const DirectionBlame& blame, const Clocks& clocks,
               std::span<const Span> communicating) {
  Cells cells;
  const std::size_t node = blame.view.best_node();
  for (const LimitedSpan& limited : limits_of(blame.view, blame.facts)) {
    const Span common{clocks.common_ns(node, limited.span.start_ns),
                      clocks.common_ns(node, limited.span.end_ns)};
    spread(limited, common, next_touching(communicating, common), cells);
  }
  return cells;
}

double payload_in(const DirectionView& view, const Clocks& clocks, Span common) {
  const Span span{clocks.local_ns(view.best_node(), common.start_ns),
                  clocks.local_ns(view.best_node(), common.end_ns)};
  double bytes = 0;
  for (const record::FlowSample& sample :
       view.best().packets.at(static_cast<std::size_t>(view.direction))) {
    bytes += sample.t_ns > span.start_ns && sample.t_ns <= span.end_ns
                 ? static_cast<double>(sample.payload_bytes.value_or(0))
                 : 0;
  }
  return bytes;
}

}  // namespace

Blame blame_of(const RunData& run, const Clocks& clocks, std::span<const Span> communicating) {
  Blame blame;
  std::map<std::int64_t, std::pair<double, std::size_t>> busiest;
  std::vector<Cells> cells;
  for (const DirectionView& view : directions_of(run)) {
    DirectionBlame& direction =
        blame.directions.emplace_back(DirectionBlame{.view = view, .facts = facts_of(run, view)});
    cells.push_back(cells_of(direction, clocks, communicating));
    for (const auto& [cell, times] : cells.back()) {
      direction.busy += times;
      auto& most = busiest[cell];
      most = std::max(most, {times.sum(), cells.size() - 1});
    }
    if (direction.busy.sum() > 0) {
      const Span whole{communicating.front().start_ns, communicating.back().end_ns};
      direction.rate_mbps = payload_in(view, clocks, whole) * 8e3 / direction.busy.sum();
    }
  }
  double held_ns = 0;
  for (const auto& [cell, most] : busiest) {
    const LimitTimes& times = cells[most.second][cell];
    blame.directions[most.second].held += times;
    blame.moments.push_back({{cell * kCellNs, (cell + 1) * kCellNs}, most.second, times});
    held_ns += most.first;
  }
  blame.idle_ns = std::max(0.0, static_cast<double>(length_ns(communicating)) - held_ns);
  return blame;
}

}  // namespace chokepoint::analysis
