#include "analysis/evidence/call_mismatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace chokepoint::analysis {
namespace {

// Each rank of these may have its own size, and one that scatters or gathers has no input.
bool is_of_any_size(std::string_view operation) {
  return operation.contains("to_all") || operation.contains("alltoall") ||
         operation.contains("scatter") || operation.contains("gather") ||
         operation.contains("coalesced");
}

struct Version {
  std::vector<std::int64_t> ranks = {};
  const Call* call = nullptr;
};

std::string key_of(const Call& call) {
  return is_of_any_size(call.operation)
             ? call.operation
             : fmt::format("{}\x1f{}\x1f{}", call.operation, call.sizes, call.types);
}

// `versions`: the one of fewest ranks first. Where as many called one thing as the other, both
// sides are named.
WaitReason mismatch_of(const ProcessGroup& group, const Numbering& numbering, std::int64_t number,
                       const std::vector<Version>& versions) {
  WaitReason reason{.kind = WaitReason::Kind::Mismatch};
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
  reason.waiting = numbering.dumped() - std::min(numbering.dumped(), reason.ranks.size());
  return reason;
}

std::optional<WaitReason> mismatch_of(const ProcessGroup& group, const Numbering& numbering,
                                      std::int64_t number, std::int64_t& created_ns) {
  std::map<std::string, Version> versions;
  bool is_open = false;
  for (const auto& [index, state] : group.states) {
    const auto call = state->calls.find(number);
    if (call == state->calls.end() || call->second.operation.empty()) {
      continue;
    }
    Version& version = versions[key_of(call->second)];
    version.ranks.push_back(numbering.rank(index));
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
  return mismatch_of(group, numbering, number, sorted);
}

}  // namespace

// The first call of a group, open at some rank, that ranks entered as different ones.
std::optional<WaitReason> mismatched(const Waits& waits) {
  constexpr std::int64_t kMaxCompared = 4096;  // calls of a group
  std::optional<WaitReason> first;
  std::int64_t first_ns = kNoTime;
  for (const ProcessGroup& group : waits.groups()) {
    std::int64_t from = kNoTime;
    std::int64_t until = -1;
    for (const auto& [index, state] : group.states) {
      std::int64_t number = 0;
      if (open_call_of(*state, number) != nullptr) {
        from = std::min(from, number);
        until = std::max(until, called_of(group, *state));
      }
    }
    for (std::int64_t number = from; number <= until && until - from < kMaxCompared; ++number) {
      std::int64_t created_ns = kNoTime;
      if (auto found = mismatch_of(group, waits.numbering(), number, created_ns)) {
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

}  // namespace chokepoint::analysis
