#include "analysis/evidence/wait_groups.h"

#include <fmt/format.h>

#include <algorithm>

namespace chokepoint::analysis {
namespace {

// Gloo's dumps do not say who is in a group: in this one all are, and an all_gather has a part
// of each.
void add_everyone(const ProcessGroup& group, std::int64_t highest, Numbering& numbering,
                  std::set<RankIndex>& members) {
  constexpr std::int64_t kMaxGuessed = 65'536;
  std::int64_t count = highest + 1;
  for (const auto& [index, state] : group.states) {
    count = std::max(count, static_cast<std::int64_t>(state->least_members));
  }
  for (std::int64_t rank = 0; rank < std::min(count, kMaxGuessed); ++rank) {
    members.insert(numbering.add(rank));
  }
}

}  // namespace

std::string ProcessGroup::text() const {
  return label.empty() || label == "undefined" ? fmt::format("group {}", name)
                                               : fmt::format("group {} ({})", name, label);
}

std::vector<ProcessGroup> groups_of(const std::vector<RankState>& ranks, Numbering& numbering) {
  std::vector<ProcessGroup> groups;
  std::map<std::string, ProcessGroup> by_name;
  std::int64_t highest = 0;
  for (RankIndex index = 0; index < ranks.size(); ++index) {
    highest = std::max(highest, ranks[index].rank);
    for (const auto& [name, state] : *ranks[index].groups) {
      ProcessGroup& group = by_name[name];
      group.states[index] = &state;
      group.has_messages = group.has_messages || state.has_messages;
      group.label = group.label.empty() ? state.label : group.label;
      group.order = group.order.empty() ? state.members : group.order;
    }
  }
  for (auto& [name, group] : by_name) {
    group.name = name;
    std::set<RankIndex> members;
    for (const auto& [index, state] : group.states) {
      members.insert(index);
      for (const std::int64_t rank : state->members) {
        members.insert(numbering.add(rank));
      }
    }
    if (group.label == "default_pg" && group.order.empty()) {
      add_everyone(group, highest, numbering, members);
    }
    for (const RankIndex member : members) {
      const auto state = group.states.find(member);
      group.members.push_back(
          {.rank = member, .state = state == group.states.end() ? nullptr : state->second});
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::int64_t called_of(const ProcessGroup& group, const GroupState& state) {
  return group.has_messages ? state.called : state.enqueued;
}

const Call* open_call_of(const GroupState& state, std::int64_t& number) {
  for (const auto& [own, call] : state.calls) {
    if (!call.is_completed) {
      number = own;
      return &call;
    }
  }
  return nullptr;
}

std::int64_t completed_of(const ProcessGroup& group, const GroupState& state) {
  if (!group.has_messages) {
    return state.completed;
  }
  std::int64_t number = 0;
  return open_call_of(state, number) != nullptr ? number - 1 : state.called;
}

}  // namespace chokepoint::analysis
