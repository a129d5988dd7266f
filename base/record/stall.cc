#include "base/record/stall.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "base/json/codec.h"

namespace chokepoint::record {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr const char* kWhat = "detail of a stall";

// The collectives of one kind in one communicator, and each rank's newest.
using Line = std::pair<std::int64_t, std::string>;
using Newest = std::map<StallRank*, StallCollective>;
constexpr std::int64_t kNone = -1;  // the number of a kind that a rank has not asked for yet

std::map<Line, Newest> lines_of(std::span<StallRank* const> ranks) {
  std::map<Line, Newest> lines;
  std::map<std::int64_t, std::set<StallRank*>> members;
  for (StallRank* rank : ranks) {
    for (const StallCollective& each : rank->collectives) {
      if (each.communicator == 0 || !each.is_entered) {
        continue;
      }
      members[each.communicator].insert(rank);
      // One process with several GPUs is as far as the last of them.
      const auto [known, is_new] = lines[{each.communicator, each.kind}].try_emplace(rank, each);
      if (!is_new && each.number < known->second.number) {
        known->second = each;
      }
    }
  }
  for (auto& [line, newest] : lines) {
    for (StallRank* member : members[line.first]) {
      newest.try_emplace(
          member,
          StallCollective{.kind = line.second, .number = kNone, .communicator = line.first});
    }
  }
  return lines;
}

// The size that most ranks have given where all are at the same collective.
std::optional<std::int64_t> usual_size(const Newest& newest) {
  std::map<std::int64_t, int> count;
  for (const auto& [rank, each] : newest) {
    ++count[each.size];
  }
  const auto most =
      std::ranges::max_element(count, {}, [](const auto& each) { return each.second; });
  return count.size() > 1 ? std::optional(most->first) : std::nullopt;
}

// First among its collectives, where entered() finds it.
void put_first(StallRank& rank, const StallCollective& collective) {
  std::erase_if(rank.collectives, [&](const StallCollective& each) {
    return each.is_entered && each.communicator == collective.communicator &&
           each.kind == collective.kind && each.number == collective.number;
  });
  rank.collectives.insert(rank.collectives.begin(), collective);
}

void add_waited_for(StallRank& rank, const StallCollective& others, std::int64_t number) {
  StallCollective waited = others;
  waited.number = number;
  waited.is_entered = false;
  waited.is_peer_there = true;
  rank.collectives.push_back(waited);
}

// Of a rank among the others of its communicators.
struct Progress {
  bool is_last = false;  // in some line, behind others
  bool is_ahead = false;
  bool has_other_size = false;

  // Others wait for it, and it waits for nobody.
  bool is_root() const { return is_last && !is_ahead; }
};

// What a comparison of fewer ranks said of it.
void forget_comparison(StallRank& rank) {
  const auto is_of_nccl = [](const StallCollective& each) { return each.communicator != 0; };
  std::erase_if(rank.collectives,
                [&](const StallCollective& each) { return is_of_nccl(each) && !each.is_entered; });
  const bool is_said = rank.does == RankDoes::Absent || rank.does == RankDoes::Differs;
  if (is_said && !rank.collectives.empty() && std::ranges::all_of(rank.collectives, is_of_nccl)) {
    rank.does = RankDoes::Sleeps;
  }
}

RankDoes compared(const Progress& made, bool has_root, RankDoes does) {
  const bool waits_for_each_other = made.is_last && made.is_ahead && !has_root;
  if (made.has_other_size || waits_for_each_other) {
    return RankDoes::Differs;
  }
  if (made.is_ahead) {
    return RankDoes::Waits;
  }
  return made.is_last && does == RankDoes::Sleeps ? RankDoes::Absent : does;
}

}  // namespace

void compare_collectives(std::span<StallRank* const> ranks) {
  std::ranges::for_each(ranks, [](StallRank* rank) { forget_comparison(*rank); });
  std::map<StallRank*, Progress> progress;
  for (const auto& [line, newest] : lines_of(ranks)) {
    const auto number = [](const auto& each) { return each.second.number; };
    const auto [least, most] = std::ranges::minmax_element(newest, {}, number);
    const auto size =
        least->second.number == most->second.number ? usual_size(newest) : std::nullopt;
    for (const auto& [rank, own] : newest) {
      Progress& own_progress = progress[rank];
      if (size && own.size != *size) {
        own_progress.has_other_size = true;
        const auto other = std::ranges::find_if(
            newest, [&](const auto& each) { return each.second.size == *size; });
        put_first(*rank, own);
        add_waited_for(*rank, other->second, own.number);
      } else if (own.number < most->second.number && own.number == least->second.number) {
        own_progress.is_last = true;
        add_waited_for(*rank, most->second, own.number + 1);
      } else if (own.number > least->second.number) {
        own_progress.is_ahead = true;
        put_first(*rank, own);
      }
    }
  }
  const bool has_root =
      std::ranges::any_of(progress, [](const auto& each) { return each.second.is_root(); });
  for (const auto& [rank, made] : progress) {
    if (made.is_last && made.is_ahead && has_root && !made.has_other_size) {
      forget_comparison(*rank);  // nobody waits for it but those that wait through it
    }
    if (rank->does == RankDoes::Sleeps || rank->does == RankDoes::Spins) {
      rank->does = compared(made, has_root, rank->does);
    }
  }
}

const StallCollective* entered(const StallRank& rank) {
  const auto found = std::ranges::find(rank.collectives, true, &StallCollective::is_entered);
  return found == rank.collectives.end() ? nullptr : &*found;
}

const StallCollective* waited_for(const StallRank& rank) {
  const auto found = std::ranges::find_if(rank.collectives, [](const StallCollective& each) {
    return !each.is_entered && each.is_peer_there;
  });
  return found == rank.collectives.end() ? nullptr : &*found;
}

std::string text_of(const StallCollective& collective) {
  return fmt::format("{} {}", collective.kind, collective.number);
}

std::string text_of(const Stall& stall) {
  return json::to_json(stall).dump(-1, ' ', false, json::Json::error_handler_t::replace);
}

std::optional<Stall> stall_in(std::string_view detail) {
  const auto body = json::parse_object(detail, kMaxBytes, kWhat);
  auto stall = body ? json::from_json<Stall>(*body, kWhat) : fail(body.error());
  return stall ? std::optional(*std::move(stall)) : std::nullopt;
}

}  // namespace chokepoint::record
