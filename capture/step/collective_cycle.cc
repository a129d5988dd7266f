#include "capture/step/collective_cycle.h"

#include <algorithm>
#include <map>

#include "capture/step/collective_group.h"

namespace chokepoint::capture::step {
namespace {

constexpr std::size_t kEnough = 400;
constexpr std::size_t kLeastCount = 48;  // however long they take
constexpr std::int64_t kLongEnoughNs = 60'000'000'000;
constexpr std::size_t kLookAgain = 256;
constexpr std::size_t kLookAgainLost = 32;  // less and less often, where it is in vain
constexpr std::size_t kLookAgainAtMost = 2'048;
constexpr std::size_t kMostFollowedRanks = 64;
constexpr std::size_t kMostGroups = 64;
constexpr double kFairShare = 0.1;  // of the bytes

// Of one rank; -1: not known.
struct Part {
  std::map<std::int64_t, CollectiveGroup> groups = {};
  CollectiveGroup* leader = nullptr;
  std::size_t count = 0;
  std::size_t looked = 0;  // at that count
  std::int64_t first_ns = 0;

  bool is_due(std::int64_t now_ns) const {
    if (looked == 0) {
      return count >= kEnough || (count >= kLeastCount && now_ns - first_ns >= kLongEnoughNs);
    }
    const bool is_astray = leader == nullptr || leader->is_lost();
    return count - looked >=
           (is_astray ? std::clamp(looked / 4, kLookAgainLost, kLookAgainAtMost) : kLookAgain);
  }

  void look() {
    looked = count;
    double bytes = 0;
    for (auto& [number, group] : groups) {
      group.look();
      bytes += group.bytes();
    }
    leader = nullptr;
    for (auto& [number, group] : groups) {
      const bool counts = group.has_cycle() && group.bytes() >= kFairShare * bytes;
      if (counts && (leader == nullptr || group.period_ns() > leader->period_ns())) {
        leader = &group;
      }
    }
  }
};

}  // namespace

struct CollectiveCycle::State {
  std::map<int, Part> parts = {};

  static void walk(int rank, Part& part, bool to_end, const OnStep& on_step) {
    if (part.leader != nullptr) {
      part.leader->walk(to_end, [&](Step step) {
        if (rank >= 0) {
          step.rank = rank;
        }
        on_step(step);
      });
    }
  }
};

CollectiveCycle::CollectiveCycle() : state_(std::make_unique<State>()) {}
CollectiveCycle::~CollectiveCycle() = default;

void CollectiveCycle::take(const record::Collective& collective, const OnStep& on_step) {
  const auto rank = static_cast<int>(collective.rank.value_or(-1));
  if (!state_->parts.contains(rank) && state_->parts.size() >= kMostFollowedRanks) {
    return;
  }
  Part& part = state_->parts[rank];
  const std::int64_t number = collective.communicator.value_or(-1);
  if (!part.groups.contains(number) && part.groups.size() >= kMostGroups) {
    return;
  }
  part.groups[number].add(collective);
  part.first_ns = part.count == 0 ? collective.start_ns : part.first_ns;
  ++part.count;
  if (part.is_due(collective.start_ns)) {
    part.look();
  }
  State::walk(rank, part, false, on_step);
}

void CollectiveCycle::finish(const OnStep& on_step) {
  for (auto& [rank, part] : state_->parts) {
    if (part.looked == 0) {
      part.look();
    }
    State::walk(rank, part, true, on_step);
  }
}

}  // namespace chokepoint::capture::step
