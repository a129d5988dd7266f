#include "analysis/evidence/wait_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace chokepoint::analysis {
namespace {

// A rank may end its part of these while others are in theirs.
bool ends_apart(std::string_view operation) {
  const bool is_of_all = operation.contains("all") || operation.contains("reduce_scatter");
  return !is_of_all && !operation.contains("barrier");
}

}  // namespace

struct Waits::Open {
  std::set<RankIndex> ranks = {};
  std::int64_t created_ns = kNoTime;
  std::string operation = {};
};

Waits::Waits(const std::vector<RankState>& ranks)
    : ranks_(ranks), numbering_(ranks), groups_(groups_of(ranks, numbering_)) {
  lags_.resize(numbering_.size());
  edges_.resize(numbering_.size());
  find_lags();
  for (const ProcessGroup& group : groups_) {
    add_collectives(group);
    add_messages(group);
  }
  add_waits_of_the_same_call();
}

// A rank that has not ended a call which another of the group has: nobody is missing from it. Or
// one whose GPU has not begun what another's has, and is in no other call: then it computes, or
// does not answer.
void Waits::find_lags() {
  for (const ProcessGroup& group : groups_) {
    std::int64_t furthest = -1;
    std::int64_t furthest_begun = -1;
    for (const auto& [index, state] : group.states) {
      furthest = std::max(furthest, completed_of(group, *state));
      for (const auto& [number, call] : state->calls) {
        furthest_begun = call.is_started ? std::max(furthest_begun, number) : furthest_begun;
      }
    }
    for (const auto& [index, state] : group.states) {
      std::int64_t number = 0;
      const Call* call = open_call_of(*state, number);
      if (call == nullptr || ends_apart(call->operation)) {
        continue;
      }
      const bool is_unbegun =
          number <= furthest_begun && !call->is_started && !is_in_begun_call(index);
      if (number <= furthest || is_unbegun) {
        lags_[index] = true;
        unended_.push_back({index, &group, call, number, number > furthest});
      }
    }
  }
}

bool Waits::is_in_begun_call(RankIndex index) const {
  return std::ranges::any_of(*ranks_[index].groups, [](const auto& each) {
    std::int64_t number = 0;
    const Call* call = open_call_of(each.second, number);
    return call != nullptr && call->is_started;
  });
}

void Waits::add_collectives(const ProcessGroup& group) {
  std::map<std::int64_t, Open> opens;
  for (const auto& [index, state] : group.states) {
    std::int64_t number = 0;
    if (const Call* call = open_call_of(*state, number)) {
      Open& open = opens[number];
      open.ranks.insert(index);
      open.created_ns =
          call->created_ns > 0 ? std::min(open.created_ns, call->created_ns) : open.created_ns;
      open.operation = open.operation.empty() ? call->operation : open.operation;
    }
  }
  for (const auto& [number, open] : opens) {
    add_collective(group, number, open);
  }
}

void Waits::add_collective(const ProcessGroup& group, std::int64_t number, const Open& open) {
  Wait wait{
      .group = &group,
      .call = fmt::format("{} {}", open.operation.empty() ? "collective" : open.operation, number),
      .waiting = open.ranks,
      .created_ns = open.created_ns};
  for (const ProcessGroup::Member& member : group.members) {
    if (open.ranks.contains(member.rank)) {
      continue;
    }
    const bool is_unknown = member.state == nullptr && numbering_.has_dump(member.rank) &&
                            (group.has_messages || group.order.empty());
    const std::int64_t called = member.state == nullptr ? -1 : called_of(group, *member.state);
    if (called < number && !is_unknown && (!group.has_messages || called >= 0)) {
      wait.missing.insert(member.rank);
    } else if (member.state != nullptr && completed_of(group, *member.state) < number) {
      wait.unended.insert(member.rank);  // it is in an earlier call of the group
    }
  }
  add_edges(wait);
  waits_.push_back(std::move(wait));
}

void Waits::add_edges(const Wait& wait) {
  for (const RankIndex from : wait.waiting) {
    for (const auto* to : {&wait.missing, &wait.unended}) {
      for (const RankIndex each : *to) {
        edges_[from].insert(each);
      }
    }
  }
}

std::optional<RankIndex> Waits::peer_of(const ProcessGroup& group, std::int64_t number) const {
  std::int64_t rank = number;
  if (!group.order.empty()) {
    if (number >= static_cast<std::int64_t>(group.order.size())) {
      return std::nullopt;
    }
    rank = group.order[static_cast<std::size_t>(number)];
  } else if (group.label != "default_pg") {
    return std::nullopt;
  }
  const auto member = std::ranges::find_if(group.members, [&](const ProcessGroup::Member& each) {
    return numbering_.rank(each.rank) == rank;
  });
  return member == group.members.end() ? std::nullopt : std::optional(member->rank);
}

// A message waits for its peer where that one has no open message that fits it, unless both count
// their messages alike, as two ranks alone do, and it has had this one.
void Waits::add_messages(const ProcessGroup& group) {
  for (const auto& [index, state] : group.states) {
    for (const Message& message : state->messages) {
      const auto peer = peer_of(group, message.is_sent ? message.to : message.from);
      if (peer && *peer != index) {
        add_message(group, index, *peer, message);
      }
    }
  }
}

void Waits::add_message(const ProcessGroup& group, RankIndex index, RankIndex peer,
                        const Message& message) {
  const auto found = group.states.find(peer);
  const GroupState* other = found == group.states.end() ? nullptr : found->second;
  const bool is_met =
      other != nullptr && std::ranges::any_of(other->messages, [&](const Message& each) {
        return each.is_sent != message.is_sent && each.from == message.from &&
               each.to == message.to;
      });
  const bool counts_alike = group.members.size() == 2 && other != nullptr;
  const std::int64_t reached =
      !counts_alike ? -1
      : other->message_number >= 0
          ? other->message_number
          // Without entries the status is the number of what was last called.
          : other->enqueued;
  Wait wait{.group = &group,
            .call = message.what,
            .waiting = {index},
            .created_ns = message.created_ns > 0 ? message.created_ns : kNoTime,
            .is_message = true};
  if (is_met) {
    if (lags_[peer] && !lags_[index]) {
      wait.unended.insert(peer);
    }
    meetings_.push_back({index, peer});
  } else if (counts_alike ? reached < message.number : !lags_[index]) {
    wait.missing.insert(peer);
  }
  // One that has not ended what others have is the reason itself: a message of it proves nothing.
  if (!lags_[index]) {
    add_edges(wait);
    waits_.push_back(std::move(wait));
  }
}

// Of ranks in the same call none waits for another by itself; but one of them may wait elsewhere,
// or have a GPU that is behind.
void Waits::add_waits_of_the_same_call() {
  const std::vector<std::set<RankIndex>> hard = edges_;
  const auto join = [&](RankIndex from, RankIndex to) {
    const bool is_held = from != to && (lags_[to] || !hard[to].empty());
    if (is_held && !lags_[from] && hard[from].empty()) {
      edges_[from].insert(to);
    }
  };
  for (const Wait& wait : waits_) {
    if (wait.waiting.size() < 2) {
      continue;
    }
    std::vector<RankIndex> held;
    for (const RankIndex each : wait.waiting) {
      if (lags_[each] || !hard[each].empty()) {
        held.push_back(each);
      }
    }
    for (const RankIndex from : wait.waiting) {
      for (const RankIndex to : held) {
        join(from, to);
      }
    }
  }
  for (const auto& [from, to] : meetings_) {
    join(from, to);
  }
}

}  // namespace chokepoint::analysis
