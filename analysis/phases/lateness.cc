#include "analysis/phases/lateness.h"

#include <algorithm>
#include <map>

#include "analysis/phases/asynchronous.h"
#include "analysis/phases/lines.h"
#include "analysis/phases/messages.h"

namespace chokepoint::analysis {
namespace {

using BeadOf = std::map<const Exchange*, const StageGap*>;

BeadOf beads_of(const std::vector<Line>& lines) {
  BeadOf beads;
  for (const Line& line : lines) {
    for (const StageGap& bead : line.beads) {
      beads[bead.exchange] = &bead;
    }
  }
  return beads;
}

// What the late rank took longer by itself than the one that waits: who left the last collective
// later comes later, too, and is not to blame. The rank that waits may have been queueing, and then
// went on computing meanwhile.
double lost_ns(const StageGap& waiting, const StageGap& late, double waited_ns) {
  const double own_ns = waiting.queued ? waiting.pace_ns : static_cast<double>(waiting.gap_ns);
  return std::clamp(static_cast<double>(late.gap_ns) - own_ns, 0.0, std::max(waited_ns, 0.0));
}

void add_collective(const Exchanges& exchanges, const Meeting& meeting, const BeadOf& beads,
                    std::vector<Late>& late) {
  std::vector<const Exchange*> in_order;
  for (const Part part : meeting) {
    const Exchange& own = at(exchanges, part);
    if (!own.knows_ready) {
      return;  // it may have been the last
    }
    in_order.push_back(&own);
  }
  std::ranges::sort(in_order, {}, &Exchange::own_ready_ns);
  const Exchange& last = *in_order.back();
  const Exchange& before = *in_order[in_order.size() - 2];
  const Span waited{before.own_ready_ns + std::max(before.way_ns, last.way_ns), last.own_ready_ns};
  const StageGap& waiting = *beads.at(&before);
  const double lost = lost_ns(waiting, *beads.at(&last), static_cast<double>(waited.length_ns()));
  if (lost > 0 && !waiting.unwaited) {
    late.push_back({.node = last.node, .rank = last.rank, .waited = waited, .lost_ns = lost});
  }
}

}  // namespace

std::vector<Late> late_arrivals(const Exchanges& exchanges, std::span<const Meeting> meetings,
                                const Spans& steps) {
  std::vector<Line> lines;
  for (const auto& of_node : exchanges) {
    for (Line& line : lines_of(of_node)) {
      lines.push_back(std::move(line));
      mark_unwaited(lines.back(), steps);
    }
  }
  const BeadOf beads = beads_of(lines);
  std::vector<Late> late = late_senders(exchanges, meetings);
  for (const Meeting& meeting : meetings) {
    if (meeting.size() > 1 && !is_message(at(exchanges, meeting.front()))) {
      add_collective(exchanges, meeting, beads, late);
    }
  }
  return late;
}

}  // namespace chokepoint::analysis
