#include "capture/gloo/rank_collectives.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>

namespace chokepoint::capture::gloo {
namespace {

using record::CollectiveKind;
using record::Figure;

// A collective's parts overlap, or follow each other at once: a broadcast is passed on, a barrier
// has rounds.
constexpr std::int64_t kAdjacentNs = 2'000'000;
constexpr std::int64_t kMaxBeginsApartNs = 5'000'000;
constexpr int kMinMeetings = 3;
constexpr std::int64_t kTogetherNs = 100'000'000;    // taps report within 50 ms of each other
constexpr std::int64_t kQuietNs = 250'000'000;       // where it is not known how many there will be
constexpr std::int64_t kPassedNs = 5'000'000'000;    // the next one has come
constexpr std::int64_t kGivenUpNs = 30'000'000'000;  // a rank may be late
constexpr std::int64_t kPastNs =
    3'000'000'000;  // by which two taps' reports of a collective may differ
constexpr std::size_t kMaxFlowEnds = 65'536;

bool is_message(const record::Collective& row) {
  return row.kind == CollectiveKind::Send || row.kind == CollectiveKind::Receive;
}

bool is_near(std::int64_t start_ns, std::int64_t end_ns, const record::Collective& row) {
  return row.start_ns <= end_ns + kAdjacentNs && start_ns <= row.end_ns + kAdjacentNs;
}

// Whether the part is of a collective of the same kind and number, to which the rank came at the
// same moment.
bool begins_with(const record::Collective& row, const CollectivePart& part) {
  return row.kind == part.row.kind && row.number == part.row.number && !is_message(row) &&
         row.own_ready_ns.known() && part.row.own_ready_ns.known() &&
         std::abs(row.own_ready_ns.value() - part.row.own_ready_ns.value()) <= kMaxBeginsApartNs;
}

bool is_same_end(const CollectivePart& one, const CollectivePart& other) {
  return one.row.flow.known() && one.row.flow == other.row.flow && one.end == other.end;
}

Figure earlier(Figure one, Figure other) {
  return !one.known() || !other.known() ? (one.known() ? one : other)
                                        : Figure(std::min(one.value(), other.value()));
}

Figure later(Figure one, Figure other) {
  return !one.known() || !other.known() ? (one.known() ? one : other)
                                        : Figure(std::max(one.value(), other.value()));
}

// A later piece of the same part: what was seen first stays.
void extend(record::Collective& row, const record::Collective& more) {
  row.start_ns = std::min(row.start_ns, more.start_ns);
  row.end_ns = std::max(row.end_ns, more.end_ns);
  row.bytes = row.bytes.value_or(0) + more.bytes.value_or(0);
  row.first_data_ns = earlier(row.first_data_ns, more.first_data_ns);
  row.last_data_ns = later(row.last_data_ns, more.last_data_ns);
  row.own_ready_ns = row.own_ready_ns.known() ? row.own_ready_ns : more.own_ready_ns;
  row.peer_ready_ns = row.peer_ready_ns.known() ? row.peer_ready_ns : more.peer_ready_ns;
}

bool is_ring(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllGather ||
         kind == CollectiveKind::ReduceScatter;
}

// The neighbour that came last, if that is sure.
const record::Collective* last_neighbour(const std::vector<CollectivePart>& parts) {
  const record::Collective* last = nullptr;
  std::int64_t unseen_until = std::numeric_limits<std::int64_t>::min();
  for (const CollectivePart& part : parts) {
    if (!part.row.peer_ready_ns.known()) {
      unseen_until = std::max(
          unseen_until, part.row.first_data_ns.value_or(std::numeric_limits<std::int64_t>::max()));
    } else if (last == nullptr || part.row.peer_ready_ns.value() > last->peer_ready_ns.value()) {
      last = &part.row;
    }
  }
  return last != nullptr && unseen_until > last->peer_ready_ns.value() ? nullptr : last;
}

}  // namespace

record::Collective joined(const std::vector<CollectivePart>& parts, Coming coming) {
  record::Collective row = parts.front().row;
  for (std::size_t place = 1; place < parts.size(); ++place) {
    const record::Collective& more = parts[place].row;
    // In a ring a rank announces itself on all its connections at once; elsewhere on the later ones
    // only after it has received.
    const bool is_last = coming == Coming::Last && is_ring(row.kind);
    const Figure own_ns = is_last ? later(row.own_ready_ns, more.own_ready_ns)
                                  : earlier(row.own_ready_ns, more.own_ready_ns);
    extend(row, more);
    row.own_ready_ns = own_ns;
  }
  const record::Collective* const last = last_neighbour(parts);
  row.peer_ready_ns = last == nullptr ? Figure() : last->peer_ready_ns;
  row.flow = last != nullptr ? last->flow : parts.size() == 1 ? row.flow : Figure();
  row.waited_ns = {};
  row.kept_waiting_ns = {};
  if (row.own_ready_ns.known() && row.peer_ready_ns.known()) {
    const std::int64_t waited_ns = row.peer_ready_ns.value() - row.own_ready_ns.value();
    row.waited_ns = std::max<std::int64_t>(waited_ns, 0);
    row.kept_waiting_ns = std::max<std::int64_t>(-waited_ns, 0);
  }
  return row;
}

void RankCollectives::take(const CollectivePart& part, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const FlowEnd key{part.process, part.row.flow.value_or(0), part.end};
  const auto known = groups_.find(key);
  auto group = known == groups_.end() ? std::nullopt : std::optional(known->second);
  if (group) {
    unite_if_one(part, *group);
  }
  Open* open = find(part, group);
  if (open == nullptr) {
    if (group) {
      wait_for_more(part, *group);
    }
    if (open_.size() == kMaxOpen) {
      emit(open_.front());
      open_.pop_front();
    }
    open_.push_back({.process = part.process,
                     .group = group ? *group : new_group(part.process),
                     .start_ns = part.row.start_ns,
                     .end_ns = part.row.end_ns});
    open = &open_.back();
  }
  if (!group && groups_.size() < kMaxFlowEnds) {
    groups_[key] = open->group;
  }
  open->start_ns = std::min(open->start_ns, part.row.start_ns);
  open->end_ns = std::max(open->end_ns, part.row.end_ns);
  open->taken_ns = now_ns;
  const auto same = std::ranges::find_if(
      open->parts, [&](const CollectivePart& each) { return is_same_end(each, part); });
  if (same != open->parts.end()) {
    extend(same->row, part.row);
  } else {
    open->parts.push_back(part);
  }
}

// Of a connection whose group is not known yet. One rank begins a ring on all its connections at
// once; of what is not known to be one rank's, others may come later.
bool RankCollectives::can_be_of(const Open& open, const CollectivePart& part) const {
  const record::Collective& row = open.parts.front().row;
  const bool is_of_a_rank = part.process != 0 && coming_ == Coming::First;
  const bool says_when = row.own_ready_ns.known() && part.row.own_ready_ns.known();
  return is_of_a_rank && is_ring(row.kind) && says_when
             ? begins_with(row, part)
             : is_near(open.start_ns, open.end_ns, part.row);
}

RankCollectives::Open* RankCollectives::find(const CollectivePart& part,
                                             std::optional<std::int64_t> group) {
  if (is_message(part.row)) {
    return nullptr;
  }
  const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](const Open& open) {
    const record::Collective& row = open.parts.front().row;
    if (open.process != part.process || row.kind != part.row.kind ||
        row.number != part.row.number) {
      return false;
    }
    return group ? open.group == *group : can_be_of(open, part);
  });
  return found == open_.rend() ? nullptr : &*found;
}

void RankCollectives::unite_if_one(const CollectivePart& part, std::int64_t& group) {
  const auto other = other_group_of(part, group);
  if (!other) {
    return;
  }
  const auto [low, high] = std::minmax(group, *other);
  const std::tuple pair{part.process, low, high};
  if (++together_[pair] < kMinMeetings) {
    return;
  }
  together_.erase(pair);
  unite(part.process, low, high);
  group = low;
}

// That of a collective which began as this part's did, though its connection is of another group.
std::optional<std::int64_t> RankCollectives::other_group_of(const CollectivePart& part,
                                                            std::int64_t group) const {
  const auto groups = group_counts_.find(part.process);
  if (groups == group_counts_.end() || groups->second < 2) {
    return std::nullopt;
  }
  const auto is_same = [&](std::int64_t process, std::int64_t other_group,
                           const record::Collective& row) {
    return process == part.process && other_group != group && begins_with(row, part);
  };
  for (const Open& open : open_) {
    if (is_same(open.process, open.group, open.parts.front().row)) {
      return open.group;
    }
  }
  for (const Past& past : past_) {
    if (is_same(past.process, past.group, past.first_part)) {
      return past.group;
    }
  }
  return std::nullopt;
}

void RankCollectives::unite(std::int64_t process, std::int64_t low, std::int64_t high) {
  for (auto& [end, of_end] : groups_) {
    if (std::get<0>(end) == process && of_end == high) {
      of_end = low;
    }
  }
  const auto rename = [&](auto& each) {
    if (each.process == process && each.group == high) {
      each.group = low;
    }
  };
  std::ranges::for_each(open_, rename);
  std::ranges::for_each(past_, rename);
  for (auto usual = usual_parts_.begin(); usual != usual_parts_.end();) {
    const auto& [of_process, group, kind] = usual->first;
    if (of_process == process && group == high) {
      usual_parts_[{process, low, kind}] += usual->second;
      usual = usual_parts_.erase(usual);
    } else {
      ++usual;
    }
  }
}

// The part of one that has been emitted: there were more parts than was known.
void RankCollectives::wait_for_more(const CollectivePart& part, std::int64_t group) {
  for (const Past& past : past_) {
    if (past.process == part.process && past.group == group && begins_with(past.first_part, part)) {
      std::size_t& usual = usual_parts_[{part.process, group, part.row.kind}];
      usual = std::max(usual, past.parts + 1);
    }
  }
}

void RankCollectives::remember(const Open& open, std::int64_t now_ns) {
  if (past_.size() == kMaxOpen) {
    past_.pop_front();
  }
  past_.push_back({.process = open.process,
                   .group = open.group,
                   .first_part = open.parts.front().row,
                   .parts = open.parts.size(),
                   .emitted_ns = now_ns});
}

std::int64_t RankCollectives::new_group(std::int64_t process) { return group_counts_[process]++; }

bool RankCollectives::has_successor(const Open& open) const {
  return std::ranges::any_of(open_, [&](const Open& other) {
    return other.process == open.process && other.group == open.group &&
           other.start_ns > open.end_ns;
  });
}

bool RankCollectives::is_due(const Open& open, std::int64_t now_ns) const {
  if (is_message(open.parts.front().row)) {
    return true;
  }
  const auto usual = usual_parts_.find({open.process, open.group, open.parts.front().row.kind});
  const std::int64_t quiet_ns = now_ns - open.taken_ns;
  if (usual != usual_parts_.end() && open.parts.size() >= usual->second) {
    return quiet_ns >= kTogetherNs || has_successor(open);
  }
  const std::int64_t since_ns = now_ns - open.end_ns;
  return quiet_ns >= kQuietNs &&
         (usual == usual_parts_.end() || (since_ns >= kPassedNs && has_successor(open)) ||
          since_ns >= kGivenUpNs);
}

void RankCollectives::settle(const std::vector<RankedProcess>& processes, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  for (const RankedProcess& each : processes) {
    ranks_[each.process] = each.rank;
  }
  while (!past_.empty() && now_ns - past_.front().emitted_ns > kPastNs) {
    past_.pop_front();
  }
  for (auto open = open_.begin(); open != open_.end();) {
    if (is_due(*open, now_ns)) {
      emit(*open);
      remember(*open, now_ns);
      open = open_.erase(open);
    } else {
      ++open;
    }
  }
}

void RankCollectives::finish() {
  const std::lock_guard lock(mutex_);
  for (const Open& open : open_) {
    emit(open);
  }
  open_.clear();
}

void RankCollectives::emit(const Open& open) {
  record::Collective row = joined(open.parts, coming_);
  row.communicator = open.group;
  if (const auto rank = rank_of(open.process)) {
    row.rank = *rank;
  }
  std::size_t& usual = usual_parts_[{open.process, open.group, row.kind}];
  usual = std::max(usual, open.parts.size());
  emit_(row);
}

// A connection of an unknown owner is that of the node's only rank, if it has just one.
std::optional<std::int64_t> RankCollectives::rank_of(std::int64_t process) const {
  const auto known = ranks_.find(process);
  if (known != ranks_.end()) {
    return known->second;
  }
  std::set<std::int64_t> all;
  for (const auto& [id, rank] : ranks_) {
    all.insert(rank);
  }
  return all.size() == 1 ? std::optional(*all.begin()) : std::nullopt;
}

}  // namespace chokepoint::capture::gloo
