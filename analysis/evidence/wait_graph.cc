#include "analysis/evidence/wait_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace chokepoint::analysis {
namespace {

using Kind = WaitReason::Kind;
using Index = std::uint32_t;  // of a rank in this file

constexpr std::size_t kMaxNamedRanks = 8;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// A rank may end its part of these while others are in theirs.
bool ends_apart(std::string_view operation) {
  const bool is_of_all = contains(operation, "all") || contains(operation, "reduce_scatter");
  return !is_of_all && !contains(operation, "barrier");
}

// Each rank of these may have its own size, and one that scatters or gathers has no input.
bool is_of_any_size(std::string_view operation) {
  return contains(operation, "to_all") || contains(operation, "alltoall") ||
         contains(operation, "scatter") || contains(operation, "gather") ||
         contains(operation, "coalesced");
}

std::string group_text(const std::string& name, const std::string& label) {
  return label.empty() || label == "undefined" ? fmt::format("group {}", name)
                                               : fmt::format("group {} ({})", name, label);
}

// Ranks as they are numbered in this file, with those that left no dump behind them.
class Numbering {
 public:
  explicit Numbering(const std::vector<RankState>& ranks) {
    for (const RankState& each : ranks) {
      add(each.rank);
    }
    dumped_ = ranks_.size();
  }

  Index add(std::int64_t rank) {
    const auto [found, is_new] = by_rank_.emplace(rank, static_cast<Index>(ranks_.size()));
    if (is_new) {
      ranks_.push_back(rank);
    }
    return found->second;
  }

  std::int64_t rank(Index index) const { return ranks_[index]; }
  bool has_dump(Index index) const { return index < dumped_; }
  std::size_t size() const { return ranks_.size(); }
  std::size_t dumped() const { return dumped_; }

  std::vector<std::int64_t> ranks_of(const std::set<Index>& indices) const {
    std::vector<std::int64_t> ranks;
    for (const Index index : indices) {
      ranks.push_back(ranks_[index]);
    }
    std::ranges::sort(ranks);
    return ranks;
  }

 private:
  std::map<std::int64_t, Index> by_rank_;
  std::vector<std::int64_t> ranks_;
  std::size_t dumped_ = 0;
};

// One process group as all dumps show it.
struct ProcessGroup {
  struct Member {
    Index rank = 0;
    const GroupState* state = nullptr;  // null: it has no dump, or none of this group
  };

  std::string name = {};
  std::string label = {};
  std::vector<Member> members = {};
  std::map<Index, const GroupState*> states = {};
  std::vector<std::int64_t> order = {};  // of members as the job numbers them; empty: unknown
  bool has_messages = false;

  std::string text() const { return group_text(name, label); }
};

// A status counts messages, too, so that of a group with both the entries alone are believed.
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

// What one or more ranks wait in, and for whom.
struct Wait {
  const ProcessGroup* group = nullptr;
  std::string call = {};  // "all_reduce 101", "recv 0<-8"
  std::set<Index> waiting = {};
  std::set<Index> missing = {};  // have not come
  std::set<Index> unended = {};  // have not ended what others have
  std::int64_t created_ns = kNever;
  bool is_message = false;
};

class Graph {
 public:
  explicit Graph(const std::vector<RankState>& ranks) : ranks_(ranks), numbering_(ranks) {
    gather_groups();
    lags_.resize(numbering_.size());
    edges_.resize(numbering_.size());
    find_lags();
    for (const ProcessGroup& group : groups_) {
      add_collectives(group);
      add_messages(group);
    }
    add_waits_of_the_same_call();
  }

  WaitReason reason() {
    WaitReason reason = found();
    reason.without_dump = numbering_.ranks_of(all_without_dump());
    reason.groups = lines();
    return reason;
  }

 private:
  // --- groups

  void gather_groups() {
    std::map<std::string, ProcessGroup> by_name;
    std::int64_t highest = 0;
    for (Index index = 0; index < ranks_.size(); ++index) {
      highest = std::max(highest, ranks_[index].rank);
      for (const auto& [name, state] : *ranks_[index].groups) {
        ProcessGroup& group = by_name[name];
        group.states[index] = &state;
        group.has_messages = group.has_messages || state.has_messages;
        group.label = group.label.empty() ? state.label : group.label;
        group.order = group.order.empty() ? state.members : group.order;
      }
    }
    for (auto& [name, group] : by_name) {
      group.name = name;
      std::set<Index> members;
      for (const auto& [index, state] : group.states) {
        members.insert(index);
        for (const std::int64_t rank : state->members) {
          members.insert(numbering_.add(rank));
        }
      }
      if (group.label == "default_pg" && group.order.empty()) {
        add_everyone(group, highest, members);
      }
      for (const Index member : members) {
        const auto state = group.states.find(member);
        group.members.push_back(
            {.rank = member, .state = state == group.states.end() ? nullptr : state->second});
      }
      groups_.push_back(std::move(group));
    }
  }

  // Gloo's dumps do not say who is in a group: in this one all are, and an all_gather has a part
  // of each.
  void add_everyone(const ProcessGroup& group, std::int64_t highest, std::set<Index>& members) {
    constexpr std::int64_t kMaxGuessed = 65'536;
    std::int64_t count = highest + 1;
    for (const auto& [index, state] : group.states) {
      count = std::max(count, static_cast<std::int64_t>(state->least_members));
    }
    for (std::int64_t rank = 0; rank < std::min(count, kMaxGuessed); ++rank) {
      members.insert(numbering_.add(rank));
    }
  }

  // --- waits

  // A rank that has not ended a call which another of the group has: nobody is missing from it. Or
  // one whose GPU has not begun what another's has, and is in no other call: then it computes, or
  // does not answer.
  void find_lags() {
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

  bool is_in_begun_call(Index index) const {
    return std::ranges::any_of(*ranks_[index].groups, [](const auto& each) {
      std::int64_t number = 0;
      const Call* call = open_call_of(each.second, number);
      return call != nullptr && call->is_started;
    });
  }

  struct Unended {
    Index rank = 0;
    const ProcessGroup* group = nullptr;
    const Call* call = nullptr;
    std::int64_t number = 0;
    bool is_unbegun = false;  // its GPU has not begun it
  };

  struct Open {
    std::set<Index> ranks = {};
    std::int64_t created_ns = kNever;
    std::string operation = {};
  };

  void add_collectives(const ProcessGroup& group) {
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

  void add_collective(const ProcessGroup& group, std::int64_t number, const Open& open) {
    Wait wait{.group = &group,
              .call = fmt::format("{} {}", open.operation.empty() ? "collective" : open.operation,
                                  number),
              .waiting = open.ranks,
              .created_ns = open.created_ns};
    for (const ProcessGroup::Member& member : group.members) {
      if (open.ranks.contains(member.rank)) {
        continue;
      }
      const bool is_unknown = member.state == nullptr && numbering_.has_dump(member.rank) &&
                              (group.has_messages || group.order.empty());
      const std::int64_t called = member.state == nullptr ? -1 : called_of(group, *member.state);
      if (called < number && !is_unknown && !(group.has_messages && called < 0)) {
        wait.missing.insert(member.rank);
      } else if (member.state != nullptr && completed_of(group, *member.state) < number) {
        wait.unended.insert(member.rank);  // it is in an earlier call of the group
      }
    }
    add_edges(wait);
    waits_.push_back(std::move(wait));
  }

  void add_edges(const Wait& wait) {
    for (const Index from : wait.waiting) {
      for (const auto* to : {&wait.missing, &wait.unended}) {
        for (const Index each : *to) {
          edges_[from].insert(each);
        }
      }
    }
  }

  std::optional<Index> peer_of(const ProcessGroup& group, std::int64_t number) const {
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
  void add_messages(const ProcessGroup& group) {
    for (const auto& [index, state] : group.states) {
      for (const Message& message : state->messages) {
        const auto peer = peer_of(group, message.is_sent ? message.to : message.from);
        if (peer && *peer != index) {
          add_message(group, index, *peer, message);
        }
      }
    }
  }

  void add_message(const ProcessGroup& group, Index index, Index peer, const Message& message) {
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
              .created_ns = message.created_ns > 0 ? message.created_ns : kNever,
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
  void add_waits_of_the_same_call() {
    const std::vector<std::set<Index>> hard = edges_;
    const auto join = [&](Index from, Index to) {
      const bool is_held = from != to && (lags_[to] || !hard[to].empty());
      if (is_held && !lags_[from] && hard[from].empty()) {
        edges_[from].insert(to);
      }
    };
    for (const Wait& wait : waits_) {
      if (wait.waiting.size() < 2) {
        continue;
      }
      std::vector<Index> held;
      for (const Index each : wait.waiting) {
        if (lags_[each] || !hard[each].empty()) {
          held.push_back(each);
        }
      }
      for (const Index from : wait.waiting) {
        for (const Index to : held) {
          join(from, to);
        }
      }
    }
    for (const auto& [from, to] : meetings_) {
      join(from, to);
    }
  }

  // --- the reason

  WaitReason found() {
    if (auto mismatch = mismatched()) {
      return *mismatch;
    }
    const std::vector<std::vector<Index>> sinks = sinks_of_edges();
    std::set<Index> roots;
    std::set<Index> absent;
    std::set<Index> cycle;
    for (const std::vector<Index>& sink : sinks) {
      if (sink.size() > 1) {
        cycle.insert(sink.begin(), sink.end());
      } else if (!numbering_.has_dump(sink.front())) {
        absent.insert(sink.front());
      } else {
        roots.insert(sink.front());
      }
    }
    const std::set<Index> gone = all_without_dump();
    if (!gone.empty() && all_calls_can_fail() && absent.empty()) {
      return without_dump_and_calls(gone, roots);
    }
    if (!absent.empty() && (roots.empty() || all_calls_can_fail())) {
      return without_dump(absent);
    }
    // One that is in a call itself, which nobody is missing from, waits for that call to end.
    std::set<Index> inside;
    for (const Index root : roots) {
      if (!lags_[root] && is_in_call(root)) {
        inside.insert(root);
      }
    }
    if (inside.size() < roots.size()) {
      std::erase_if(roots, [&](Index root) { return inside.contains(root); });
      return missing_or_unended(roots);
    }
    if (!cycle.empty()) {
      return in_cycle(cycle);
    }
    return inside.empty() && !lags_of_all().empty() ? missing_or_unended(lags_of_all())
                                                    : hung(inside);
  }

  bool is_in_call(Index index) const {
    return std::ranges::any_of(waits_,
                               [&](const Wait& wait) { return wait.waiting.contains(index); });
  }

  std::set<Index> lags_of_all() const {
    std::set<Index> lags;
    for (Index index = 0; index < numbering_.dumped(); ++index) {
      if (lags_[index]) {
        lags.insert(index);
      }
    }
    return lags;
  }

  // Those of Gloo do, whose groups' members are unknown: where a process is gone, they fail at all
  // that are connected with it, which are then in no call.
  bool all_calls_can_fail() const {
    return std::ranges::all_of(groups_,
                               [](const ProcessGroup& group) { return group.order.empty(); });
  }

  std::set<Index> all_without_dump() const {
    std::set<Index> ranks;
    for (Index index = 0; index < numbering_.size(); ++index) {
      if (!numbering_.has_dump(index)) {
        ranks.insert(index);
      }
    }
    return ranks;
  }

  // Components without an edge that leaves them, of which some rank outside or inside waits.
  // Tarjan's algorithm, without recursion.
  std::vector<std::vector<Index>> sinks_of_edges() const {
    const std::size_t count = numbering_.size();
    std::vector<std::vector<Index>> next(count);
    std::vector<bool> is_waited_for(count, false);
    for (Index from = 0; from < count; ++from) {
      next[from].assign(edges_[from].begin(), edges_[from].end());
      for (const Index to : next[from]) {
        is_waited_for[to] = true;
      }
    }
    constexpr std::size_t kUnseen = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> seen(count, kUnseen);
    std::vector<std::size_t> low(count, 0);
    std::vector<std::size_t> at(count, 0);
    std::vector<std::size_t> component(count, kUnseen);
    std::vector<Index> open;
    std::vector<Index> path;
    std::vector<std::vector<Index>> components;
    std::size_t clock = 0;
    for (Index start = 0; start < count; ++start) {
      if (seen[start] != kUnseen) {
        continue;
      }
      path.push_back(start);
      while (!path.empty()) {
        const Index here = path.back();
        if (seen[here] == kUnseen) {
          seen[here] = low[here] = clock++;
          open.push_back(here);
        }
        if (at[here] < next[here].size()) {
          const Index to = next[here][at[here]++];
          if (seen[to] == kUnseen) {
            path.push_back(to);
          } else if (component[to] == kUnseen) {
            low[here] = std::min(low[here], seen[to]);
          }
          continue;
        }
        path.pop_back();
        if (!path.empty()) {
          low[path.back()] = std::min(low[path.back()], low[here]);
        }
        if (low[here] == seen[here]) {
          components.emplace_back();
          for (bool is_last = false; !is_last;) {
            const Index member = open.back();
            open.pop_back();
            component[member] = components.size() - 1;
            components.back().push_back(member);
            is_last = member == here;
          }
        }
      }
    }
    std::vector<std::vector<Index>> sinks;
    for (std::size_t number = 0; number < components.size(); ++number) {
      const std::vector<Index>& members = components[number];
      const bool leaves = std::ranges::any_of(members, [&](Index member) {
        return std::ranges::any_of(next[member], [&](Index to) { return component[to] != number; });
      });
      if (!leaves && (members.size() > 1 || is_waited_for[members.front()])) {
        sinks.push_back(members);
      }
    }
    return sinks;
  }

  // How many ranks wait for any of these, and how many of them through others.
  void count_waiting(const std::set<Index>& reasons, WaitReason& reason) const {
    std::vector<std::vector<Index>> before(numbering_.size());
    for (Index from = 0; from < edges_.size(); ++from) {
      for (const Index to : edges_[from]) {
        before[to].push_back(from);
      }
    }
    std::vector<bool> waits(numbering_.size(), false);
    std::vector<Index> left(reasons.begin(), reasons.end());
    std::set<Index> direct;
    for (const Index each : reasons) {
      direct.insert(before[each].begin(), before[each].end());
    }
    while (!left.empty()) {
      const Index to = left.back();
      left.pop_back();
      for (const Index from : before[to]) {
        if (!waits[from]) {
          waits[from] = true;
          left.push_back(from);
        }
      }
    }
    for (Index index = 0; index < waits.size(); ++index) {
      if (waits[index] && !reasons.contains(index)) {
        ++reason.waiting;
        reason.through_others += direct.contains(index) ? 0 : 1;
      }
    }
  }

  // `named`: for how many ranks they wait.
  static std::string waiting_text(const WaitReason& reason, std::size_t named) {
    if (reason.waiting == 0) {
      return "";
    }
    const char* whom = named == 1 ? "it" : "them";
    std::string text = fmt::format("; {} wait{} for {}", count_text(reason.waiting),
                                   reason.waiting == 1 ? "s" : "", whom);
    if (reason.through_others > 0) {
      text += reason.through_others == reason.waiting
                  ? ", through others"
                  : fmt::format(", {} of these through others", reason.through_others);
    }
    return text;
  }

  // The calls that say best what these ranks have not come to: few of them, that ranks came to
  // first.
  std::vector<const Wait*> waits_for(
      std::set<Index> ranks, const std::function<const std::set<Index>&(const Wait&)>& of) const {
    constexpr std::size_t kMaxCalls = 3;
    std::vector<const Wait*> chosen;
    while (!ranks.empty() && chosen.size() < kMaxCalls) {
      const Wait* best = nullptr;
      std::size_t most = 0;
      for (const Wait& wait : waits_) {
        const auto count = static_cast<std::size_t>(
            std::ranges::count_if(of(wait), [&](Index rank) { return ranks.contains(rank); }));
        const auto rank_of = [&](const Wait& each, std::size_t named) {
          return std::tuple(named, !each.is_message, -each.created_ns);
        };
        if (count > 0 && (best == nullptr || rank_of(wait, count) > rank_of(*best, most))) {
          best = &wait;
          most = count;
        }
      }
      if (best == nullptr) {
        break;
      }
      for (const Index rank : of(*best)) {
        ranks.erase(rank);
      }
      chosen.push_back(best);
    }
    return chosen;
  }

  static std::string calls_text(const std::vector<const Wait*>& waits) {
    std::vector<std::string> texts;
    for (const Wait* wait : waits) {
      texts.push_back(fmt::format("{} of {}", wait->call, wait->group->text()));
    }
    const std::string last = texts.empty() ? "a collective" : texts.back();
    return texts.size() < 2
               ? last
               : fmt::format("{} and {}", fmt::join(texts.begin(), texts.end() - 1, ", "), last);
  }

  WaitReason missing_or_unended(const std::set<Index>& roots) const {
    const bool is_behind = std::ranges::any_of(roots, [&](Index root) { return lags_[root]; });
    WaitReason reason{.kind = is_behind ? Kind::Unended : Kind::Missing,
                      .ranks = numbering_.ranks_of(roots)};
    count_waiting(roots, reason);
    const std::string who = ranks_text(reason.ranks);
    const bool is_one = reason.ranks.size() == 1;
    if (is_behind) {
      const Unended* first = first_of_most(roots);
      reason.call = fmt::format("{} {}", first->call->operation, first->number);
      reason.sentence =
          fmt::format("{} {} begun {} of {} and not ended it, which others of the group have{}",
                      who, is_one ? "has" : "have", reason.call, first->group->text(),
                      waiting_text(reason, reason.ranks.size()));
      return reason;
    }
    const auto waits =
        waits_for(roots, [](const Wait& wait) -> const std::set<Index>& { return wait.missing; });
    reason.call = waits.empty() ? "" : waits.front()->call;
    reason.sentence = fmt::format("{} {} not come to {}{}", who, is_one ? "has" : "have",
                                  calls_text(waits), waiting_text(reason, reason.ranks.size()));
    return reason;
  }

  // What most of these have not ended, and of such calls the first.
  const Unended* first_of_most(const std::set<Index>& roots) const {
    std::map<std::pair<const ProcessGroup*, std::int64_t>, std::size_t> counts;
    for (const Unended& each : unended_) {
      counts[{each.group, each.number}] += roots.contains(each.rank) ? 1 : 0;
    }
    const auto key = [&](const Unended& each) {
      const std::int64_t created_ns = each.call->created_ns > 0 ? each.call->created_ns : kNever;
      return std::tuple(counts[{each.group, each.number}], -created_ns, -each.call->order);
    };
    const Unended* first = nullptr;
    for (const Unended& each : unended_) {
      if (roots.contains(each.rank) && (first == nullptr || key(each) > key(*first))) {
        first = &each;
      }
    }
    return first;
  }

  WaitReason without_dump(const std::set<Index>& absent) const {
    WaitReason reason{.kind = Kind::WithoutDump, .ranks = numbering_.ranks_of(absent)};
    count_waiting(absent, reason);
    const auto waits =
        waits_for(absent, [](const Wait& wait) -> const std::set<Index>& { return wait.missing; });
    reason.call = waits.empty() ? "" : waits.front()->call;
    reason.sentence = fmt::format(
        "{} {} left no dump and {} not seen to come to {}{}", ranks_text(reason.ranks),
        reason.ranks.size() == 1 ? "has" : "have", reason.ranks.size() == 1 ? "was" : "were",
        calls_text(waits), waiting_text(reason, reason.ranks.size()));
    return reason;
  }

  WaitReason without_dump_and_calls(const std::set<Index>& gone,
                                    const std::set<Index>& roots) const {
    WaitReason reason{.kind = Kind::WithoutDump, .ranks = numbering_.ranks_of(gone)};
    count_waiting(roots, reason);
    reason.sentence = fmt::format("{} left no dump, while {} did", ranks_text(reason.ranks),
                                  count_text(numbering_.dumped()));
    if (!roots.empty()) {
      const std::vector<std::int64_t> idle = numbering_.ranks_of(roots);
      reason.sentence +=
          fmt::format("; {} {} in no call{}", ranks_text(idle), idle.size() == 1 ? "is" : "are",
                      waiting_text(reason, idle.size()));
    }
    return reason;
  }

  static std::string count_text(std::size_t ranks) {
    return fmt::format("{} other{}", ranks, ranks == 1 ? "" : "s");
  }

  // Of ranks that wait for each other: those that are in one call, and those in another. Who left
  // the order that it had kept before is the reason; else the fewer; else whom the first that
  // waited waits for.
  WaitReason in_cycle(const std::set<Index>& cycle) const {
    WaitReason reason{.kind = Kind::Cycle};
    std::vector<const Wait*> waits;
    for (const Wait& wait : waits_) {
      if (std::ranges::any_of(wait.waiting, [&](Index each) { return cycle.contains(each); }) &&
          std::ranges::any_of(wait.missing, [&](Index each) { return cycle.contains(each); })) {
        waits.push_back(&wait);
      }
    }
    std::ranges::stable_sort(waits, {}, [](const Wait* wait) {
      return std::pair(wait->created_ns, wait->waiting.size());
    });
    std::set<Index> reasons;
    for (const Index each : cycle) {
      if (ranks_[each].leaves_sequence) {
        reasons.insert(each);
      }
    }
    if (reasons.empty() || reasons.size() == cycle.size()) {
      reasons = fewest_of(waits, cycle);
    }
    reason.ranks = numbering_.ranks_of(reasons);
    count_waiting(reasons, reason);
    reason.waiting = std::max(reason.waiting, cycle.size() - reasons.size());
    reason.call = waits.empty() ? "" : waits.front()->call;
    std::vector<std::string> parts;
    constexpr std::size_t kMaxParts = 3;
    // First what the reason is in.
    std::ranges::stable_partition(waits, [&](const Wait* wait) {
      return std::ranges::any_of(wait->waiting, [&](Index each) { return reasons.contains(each); });
    });
    for (std::size_t at = 0; at < std::min(kMaxParts, waits.size()); ++at) {
      parts.push_back(fmt::format("{} {} in {} of {}",
                                  ranks_text(numbering_.ranks_of(waits[at]->waiting)),
                                  waits[at]->waiting.size() == 1 ? "is" : "are", waits[at]->call,
                                  waits[at]->group->text()));
    }
    reason.sentence = fmt::format(
        "{} entered calls in another order than the others, and they wait for each other: {}{}",
        ranks_text(reason.ranks), fmt::join(parts, ", "), waits.size() > kMaxParts ? ", …" : "");
    if (reasons.size() == cycle.size()) {
      reason.sentence = fmt::format("{} wait for each other: {}{}", ranks_text(reason.ranks),
                                    fmt::join(parts, ", "), waits.size() > kMaxParts ? ", …" : "");
    }
    return reason;
  }

  // Those in the call that fewest are in; all where two have as few.
  static std::set<Index> fewest_of(const std::vector<const Wait*>& waits,
                                   const std::set<Index>& cycle) {
    const Wait* fewest = nullptr;
    bool is_alone = false;
    for (const Wait* wait : waits) {
      if (fewest == nullptr || wait->waiting.size() < fewest->waiting.size()) {
        fewest = wait;
        is_alone = true;
      } else if (wait->waiting.size() == fewest->waiting.size()) {
        is_alone = false;
      }
    }
    if (fewest == nullptr) {
      return cycle;
    }
    if (is_alone) {
      return fewest->waiting;
    }
    // `waits` are in the order of time: the first that waited.
    const Wait& first = *waits.front();
    const bool has_time =
        first.created_ns != kNever && waits.size() > 1 && waits[1]->created_ns > first.created_ns;
    return has_time ? first.missing : cycle;
  }

  // The call that the first ranks to stand still are in; of `ranks`, if there are any.
  WaitReason hung(const std::set<Index>& ranks) const {
    const Wait* first = nullptr;
    for (const Wait& wait : waits_) {
      if (!ranks.empty() &&
          std::ranges::none_of(wait.waiting, [&](Index each) { return ranks.contains(each); })) {
        continue;
      }
      const auto key = [](const Wait& each) { return std::pair(each.is_message, each.created_ns); };
      if (first == nullptr || key(wait) < key(*first)) {
        first = &wait;
      }
    }
    if (first == nullptr) {
      return {.sentence = "no rank is in a call"};
    }
    WaitReason reason{.kind = Kind::Hung, .ranks = numbering_.ranks_of(first->waiting)};
    std::set<Index> inside = first->waiting;
    count_waiting(inside, reason);
    reason.call = first->call;
    if (first->is_message) {
      reason.sentence = fmt::format("both ends of {} of {} have begun it, and it has not ended",
                                    first->call, first->group->text());
      return reason;
    }
    const std::size_t elsewhere = reason.waiting > 0 ? 0 : open_elsewhere(inside);
    reason.sentence = fmt::format(
        "{} have all begun {} of {}, and none has ended it{}", ranks_text(reason.ranks),
        first->call, first->group->text(),
        elsewhere == 0
            ? waiting_text(reason, reason.ranks.size())
            : fmt::format("; {} other{} {} in calls that they have begun alike", elsewhere,
                          elsewhere == 1 ? "" : "s", elsewhere == 1 ? "is" : "are"));
    return reason;
  }

  std::size_t open_elsewhere(const std::set<Index>& inside) const {
    std::set<Index> others;
    for (const Wait& wait : waits_) {
      for (const Index each : wait.waiting) {
        if (!inside.contains(each)) {
          others.insert(each);
        }
      }
    }
    return others.size();
  }

  // --- different calls under one number

  struct Version {
    std::vector<std::int64_t> ranks = {};
    const Call* call = nullptr;
  };

  static std::string key_of(const Call& call) {
    return is_of_any_size(call.operation)
               ? call.operation
               : fmt::format("{}\x1f{}\x1f{}", call.operation, call.sizes, call.types);
  }

  // The first call of a group, open at some rank, that ranks entered as different ones.
  std::optional<WaitReason> mismatched() const {
    std::optional<WaitReason> first;
    std::int64_t first_ns = kNever;
    for (const ProcessGroup& group : groups_) {
      std::int64_t from = kNever;
      std::int64_t until = -1;
      for (const auto& [index, state] : group.states) {
        std::int64_t number = 0;
        if (open_call_of(*state, number) != nullptr) {
          from = std::min(from, number);
          until = std::max(until, called_of(group, *state));
        }
      }
      for (std::int64_t number = from; number <= until && until - from < 4096; ++number) {
        std::int64_t created_ns = kNever;
        if (auto found = mismatch_of(group, number, created_ns)) {
          if (!first || created_ns < first_ns) {
            first = std::move(found);
            first_ns = created_ns;
          }
          break;
        }
      }
    }
    return first;
  }

  std::optional<WaitReason> mismatch_of(const ProcessGroup& group, std::int64_t number,
                                        std::int64_t& created_ns) const {
    std::map<std::string, Version> versions;
    bool is_open = false;
    for (const auto& [index, state] : group.states) {
      const auto call = state->calls.find(number);
      if (call == state->calls.end() || call->second.operation.empty()) {
        continue;
      }
      Version& version = versions[key_of(call->second)];
      version.ranks.push_back(numbering_.rank(index));
      version.call = &call->second;
      is_open = is_open || !call->second.is_completed;
      if (call->second.created_ns > 0) {
        created_ns = std::min(created_ns, call->second.created_ns);
      }
    }
    if (versions.size() < 2 || !is_open) {
      return std::nullopt;
    }
    std::vector<Version> sorted;
    for (auto& [key, version] : versions) {
      std::ranges::sort(version.ranks);
      sorted.push_back(std::move(version));
    }
    std::ranges::stable_sort(sorted, {}, [](const Version& each) { return each.ranks.size(); });
    return mismatch_of(group, number, sorted);
  }

  // `versions`: the one of fewest ranks first. Where as many called one thing as the other, both
  // sides are named.
  WaitReason mismatch_of(const ProcessGroup& group, std::int64_t number,
                         const std::vector<Version>& versions) const {
    WaitReason reason{.kind = Kind::Mismatch};
    const Version& most = versions.back();
    const bool is_even = versions[versions.size() - 2].ranks.size() == most.ranks.size();
    for (const Version& each : versions) {
      if (&each != &most || is_even) {
        reason.ranks.insert(reason.ranks.end(), each.ranks.begin(), each.ranks.end());
      }
    }
    std::ranges::sort(reason.ranks);
    const Version& odd = versions.front();
    const bool is_kind = odd.call->operation != most.call->operation;
    const bool is_size = odd.call->sizes != most.call->sizes;
    const auto described = [&](const Call& call) {
      const std::string what = is_kind   ? call.operation
                               : is_size ? fmt::format("{} of {}", call.operation, call.sizes)
                                         : fmt::format("{} of type {}", call.operation, call.types);
      return call.site.empty() ? what : fmt::format("{} at {}", what, call.site);
    };
    reason.call = fmt::format("{} {}", most.call->operation, number);
    reason.sentence = fmt::format("{} called {} as call {} of {}, and {} called {}",
                                  ranks_text(odd.ranks), described(*odd.call), number, group.text(),
                                  ranks_text(most.ranks), described(*most.call));
    if (versions.size() > 2) {
      reason.sentence += fmt::format("; {} kinds of it in all", versions.size());
    }
    reason.waiting = numbering_.dumped() - std::min(numbering_.dumped(), reason.ranks.size());
    return reason;
  }

  // --- for those who want all of it

  std::vector<std::string> lines() const {
    std::vector<const Wait*> sorted;
    for (const Wait& wait : waits_) {
      sorted.push_back(&wait);
    }
    std::ranges::stable_sort(sorted, {}, [](const Wait* wait) {
      return std::tuple(wait->missing.empty(), wait->is_message, wait->created_ns);
    });
    std::vector<std::string> lines;
    for (const Wait* wait : sorted) {
      std::string line = fmt::format("{}: {} {} in {}", wait->group->text(),
                                     ranks_text(numbering_.ranks_of(wait->waiting)),
                                     wait->waiting.size() == 1 ? "is" : "are", wait->call);
      if (!wait->missing.empty()) {
        line += fmt::format(", {} {} not come", ranks_text(numbering_.ranks_of(wait->missing)),
                            wait->missing.size() == 1 ? "has" : "have");
      }
      if (!wait->unended.empty()) {
        line += fmt::format(", {} {} behind", ranks_text(numbering_.ranks_of(wait->unended)),
                            wait->unended.size() == 1 ? "is" : "are");
      }
      lines.push_back(std::move(line));
    }
    return lines;
  }

  const std::vector<RankState>& ranks_;
  Numbering numbering_;
  std::vector<ProcessGroup> groups_;
  std::vector<Wait> waits_;
  std::vector<std::set<Index>> edges_;  // from who waits to whom
  std::vector<bool> lags_;
  std::vector<Unended> unended_;
  std::vector<std::pair<Index, Index>> meetings_;  // messages that both ends have begun
};

}  // namespace

std::string ranks_text(const std::vector<std::int64_t>& ranks) {
  if (ranks.size() == 1) {
    return fmt::format("rank {}", ranks.front());
  }
  const auto named = std::span(ranks).first(std::min(kMaxNamedRanks, ranks.size()));
  if (ranks.size() > named.size()) {
    return fmt::format("ranks {} and {} more", fmt::join(named, ", "), ranks.size() - named.size());
  }
  return ranks.empty() ? "no rank"
                       : fmt::format("ranks {} and {}",
                                     fmt::join(named.first(named.size() - 1), ", "), named.back());
}

WaitReason reason_of(const std::vector<RankState>& ranks) { return Graph(ranks).reason(); }

}  // namespace chokepoint::analysis
