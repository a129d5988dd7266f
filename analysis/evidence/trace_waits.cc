#include "analysis/evidence/trace_waits.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

// Of others, such as a broadcast, ranks may end long before the last one has come.
bool is_ended_together(std::string_view group) {
  std::string name;
  for (const char letter : group.substr(group.find('/') + 1)) {
    if (std::isalpha(static_cast<unsigned char>(letter)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
  }
  constexpr std::array kNames{"allreduce", "allgather", "reducescatter", "alltoall", "barrier"};
  return std::ranges::any_of(kNames, [&](const char* each) { return name.contains(each); });
}

struct Meeting {
  std::uint32_t group = 0;
  std::uint64_t number = 0;
  bool operator==(const Meeting&) const = default;
};

struct MeetingHash {
  std::size_t operator()(const Meeting& meeting) const {
    return std::hash<std::uint64_t>()(meeting.number ^
                                      (std::uint64_t{meeting.group} * 0x9e3779b97f4a7c15));
  }
};

struct Attendance {
  std::size_t of = 0;  // in the list of ranks
  std::int64_t start_ns = 0;
  std::int64_t length_ns = 0;
};

using Meetings = std::unordered_map<Meeting, std::vector<Attendance>, MeetingHash>;

Meetings meetings_of(const std::vector<const RankRecord*>& ranks) {
  Meetings meetings;
  std::map<std::string, std::uint32_t> groups;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    const RankRecord& own = *ranks[at];
    std::vector<std::optional<std::uint32_t>> places;
    for (const std::string& group : own.groups) {
      const auto next = static_cast<std::uint32_t>(groups.size());
      places.push_back(is_ended_together(group)
                           ? std::optional(groups.try_emplace(group, next).first->second)
                           : std::nullopt);
    }
    for (const CollectiveTime& each : own.collectives) {
      if (each.group < places.size() && places[each.group]) {
        meetings[{*places[each.group], each.number}].push_back(
            {.of = at, .start_ns = each.start_ns, .length_ns = each.length_ns});
      }
    }
  }
  return meetings;
}

}  // namespace

TraceWaits waits_of(const std::vector<const RankRecord*>& ranks) {
  TraceWaits waits;
  std::vector<std::map<std::int64_t, Spans>> spans(ranks.size());  // by whom each waits for
  for (const auto& [meeting, parts] : meetings_of(ranks)) {
    if (parts.size() < 2) {
      continue;
    }
    ++waits.collectives;
    const Attendance& last = *std::ranges::min_element(parts, {}, &Attendance::length_ns);
    for (const Attendance& each : parts) {
      const std::int64_t waited_ns = each.length_ns - last.length_ns;
      if (waited_ns > 0 && ranks[each.of]->rank != ranks[last.of]->rank) {
        spans[each.of][*ranks[last.of]->rank].push_back({each.start_ns, each.start_ns + waited_ns});
      }
    }
  }
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    const std::int64_t rank = *ranks[at]->rank;
    const Spans& exposed = ranks[at]->time->exposed;
    Spans all;
    for (auto& [last, own] : spans[at]) {
      const Spans waited = common_to(united(std::move(own)), exposed);
      waits.for_whom_ns[rank][last] += length_ns(waited);
      all.insert(all.end(), waited.begin(), waited.end());
    }
    waits.waiting_ns[rank] += length_ns(united(std::move(all)));
  }
  return waits;
}

std::map<std::int64_t, double> cost_of_ranks(const TraceWaits& waits) {
  std::map<std::int64_t, std::vector<double>> by_last;
  for (const auto& [rank, for_whom] : waits.for_whom_ns) {
    for (const auto& [last, ns] : for_whom) {
      if (ns > 0) {
        by_last[last].push_back(static_cast<double>(ns));
      }
    }
  }
  std::map<std::int64_t, double> costs;
  for (const auto& [last, ns] : by_last) {
    costs[last] = math::median(ns).value_or(0);
  }
  return costs;
}

}  // namespace chokepoint::analysis
