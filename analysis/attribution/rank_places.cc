#include "analysis/attribution/rank_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/record/names.h"
#include "base/record/stacks.h"
#include "base/record/stall.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMaxPlacesShown = 4;   // a judgement: what fits beside the other evidence
constexpr std::size_t kMaxRanksOfNode = 64;  // as many as a watch samples

struct ProgramPlace {
  const NodeData* node = nullptr;
  std::optional<std::int64_t> rank = {};
  std::int64_t pid = 0;
  std::string frame = {};
};

bool is_end_of_stall(const record::Event& event) {
  const auto stall = event.kind == record::kStall ? record::stall_in(event.detail)
                                                  : std::optional<record::Stall>();
  return stall && stall->state == record::StallState::Over;
}

// The newest of each rank, since the last stall that is over.
void add_places_of(const NodeData& node, std::vector<ProgramPlace>& places) {
  std::vector<const record::Event*> events;
  for (const record::Event& event : node.events) {
    if (event.kind == record::kStacks || event.kind == record::kStall) {
      events.push_back(&event);
    }
  }
  std::ranges::stable_sort(events, {}, &record::Event::t_ns);
  std::set<std::string> known;
  for (const record::Event* event : events | std::views::reverse) {
    if (is_end_of_stall(*event) || known.size() == kMaxRanksOfNode) {
      return;
    }
    if (event->kind != record::kStacks || !known.insert(event->subject).second) {
      continue;
    }
    const auto stacks = record::stacks_in(event->detail);
    if (std::string frame = stacks ? record::place_of(*stacks) : ""; !frame.empty()) {
      places.push_back({&node, stacks->rank, stacks->pid, std::move(frame)});
    }
  }
}

std::vector<ProgramPlace> places_in(const RunData& run) {
  std::vector<ProgramPlace> places;
  for (const NodeData& node : run.nodes) {
    add_places_of(node, places);
  }
  std::ranges::stable_sort(places, {}, &ProgramPlace::rank);
  return places;
}

bool is_named(const Where& where, const ProgramPlace& place) {
  const bool is_there =
      where.node.empty() || where.ranks.size() > 1 || where.node == place.node->name;
  return place.rank && is_there &&
         (place.rank == where.rank || std::ranges::count(where.ranks, *place.rank) > 0);
}

}  // namespace

void add_places(const RunData& run, Verdict& verdict) {
  if (verdict.verdict != VerdictClass::Stalled) {
    return;
  }
  const bool is_of_ranks = verdict.where.rank || !verdict.where.ranks.empty();
  const bool is_of_nobody = !is_of_ranks && verdict.cause == Cause::None;
  std::size_t shown = 0;
  for (const ProgramPlace& place : places_in(run)) {
    if (!is_of_nobody && !is_named(verdict.where, place)) {
      continue;
    }
    if (place.rank && place.rank == verdict.where.rank) {
      verdict.where.frame = place.frame;
    }
    if (shown++ < kMaxPlacesShown) {
      const std::string name =
          place.rank ? fmt::format("rank {}", *place.rank) : fmt::format("process {}", place.pid);
      verdict.evidence.push_back(
          {fmt::format("{} is in {}", name, place.frame),
           {},
           "",
           fmt::format("event {} of {}", record::kStacks, place.node->name)});
    }
  }
}

}  // namespace chokepoint::analysis
