#include "analysis/evidence/wait_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/evidence/call_mismatch.h"
#include "analysis/evidence/wait_edges.h"
#include "analysis/evidence/wait_sinks.h"

namespace chokepoint::analysis {
namespace {

using Kind = WaitReason::Kind;

constexpr std::size_t kMaxNamedRanks = 8;

class Reasons {
 public:
  Reasons(const Waits& waits, const std::vector<RankState>& ranks) : waits_(waits), ranks_(ranks) {}

  WaitReason reason() const {
    WaitReason reason = found();
    reason.without_dump = numbering().ranks_of(all_without_dump());
    reason.groups = lines();
    return reason;
  }

 private:
  const Numbering& numbering() const { return waits_.numbering(); }

  WaitReason found() const {
    if (auto mismatch = mismatched(waits_)) {
      return *mismatch;
    }
    const std::vector<std::vector<RankIndex>> sinks = sinks_of(waits_.edges());
    std::set<RankIndex> roots;
    std::set<RankIndex> absent;
    std::set<RankIndex> cycle;
    for (const std::vector<RankIndex>& sink : sinks) {
      if (sink.size() > 1) {
        cycle.insert(sink.begin(), sink.end());
      } else if (!numbering().has_dump(sink.front())) {
        absent.insert(sink.front());
      } else {
        roots.insert(sink.front());
      }
    }
    const std::set<RankIndex> gone = all_without_dump();
    if (!gone.empty() && all_calls_can_fail() && absent.empty()) {
      return without_dump_and_calls(gone, roots);
    }
    if (!absent.empty() && (roots.empty() || all_calls_can_fail())) {
      return without_dump(absent);
    }
    // One that is in a call itself, which nobody is missing from, waits for that call to end.
    std::set<RankIndex> inside;
    for (const RankIndex root : roots) {
      if (!waits_.is_behind(root) && is_in_call(root)) {
        inside.insert(root);
      }
    }
    if (inside.size() < roots.size()) {
      std::erase_if(roots, [&](RankIndex root) { return inside.contains(root); });
      return missing_or_unended(roots);
    }
    if (!cycle.empty()) {
      return in_cycle(cycle);
    }
    return inside.empty() && !lags_of_all().empty() ? missing_or_unended(lags_of_all())
                                                    : hung(inside);
  }

  bool is_in_call(RankIndex index) const {
    return std::ranges::any_of(waits_.all(),
                               [&](const Wait& wait) { return wait.waiting.contains(index); });
  }

  std::set<RankIndex> lags_of_all() const {
    std::set<RankIndex> lags;
    for (RankIndex index = 0; index < numbering().dumped(); ++index) {
      if (waits_.is_behind(index)) {
        lags.insert(index);
      }
    }
    return lags;
  }

  // Those of Gloo do, whose groups' members are unknown: where a process is gone, they fail at all
  // that are connected with it, which are then in no call.
  bool all_calls_can_fail() const {
    return std::ranges::all_of(waits_.groups(),
                               [](const ProcessGroup& group) { return group.order.empty(); });
  }

  std::set<RankIndex> all_without_dump() const {
    std::set<RankIndex> ranks;
    for (RankIndex index = 0; index < numbering().size(); ++index) {
      if (!numbering().has_dump(index)) {
        ranks.insert(index);
      }
    }
    return ranks;
  }

  // How many ranks wait for any of these, and how many of them through others.
  void count_waiting(const std::set<RankIndex>& reasons, WaitReason& reason) const {
    std::vector<std::vector<RankIndex>> before(numbering().size());
    for (RankIndex from = 0; from < waits_.edges().size(); ++from) {
      for (const RankIndex to : waits_.edges()[from]) {
        before[to].push_back(from);
      }
    }
    std::vector<bool> waits(numbering().size(), false);
    std::vector<RankIndex> left(reasons.begin(), reasons.end());
    std::set<RankIndex> direct;
    for (const RankIndex each : reasons) {
      direct.insert(before[each].begin(), before[each].end());
    }
    while (!left.empty()) {
      const RankIndex to = left.back();
      left.pop_back();
      for (const RankIndex from : before[to]) {
        if (!waits[from]) {
          waits[from] = true;
          left.push_back(from);
        }
      }
    }
    for (RankIndex index = 0; index < waits.size(); ++index) {
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
      std::set<RankIndex> ranks,
      const std::function<const std::set<RankIndex>&(const Wait&)>& of) const {
    constexpr std::size_t kMaxCalls = 3;
    std::vector<const Wait*> chosen;
    while (!ranks.empty() && chosen.size() < kMaxCalls) {
      const Wait* best = nullptr;
      std::size_t most = 0;
      for (const Wait& wait : waits_.all()) {
        const auto count = static_cast<std::size_t>(
            std::ranges::count_if(of(wait), [&](RankIndex rank) { return ranks.contains(rank); }));
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
      for (const RankIndex rank : of(*best)) {
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

  WaitReason missing_or_unended(const std::set<RankIndex>& roots) const {
    const bool is_behind =
        std::ranges::any_of(roots, [&](RankIndex root) { return waits_.is_behind(root); });
    WaitReason reason{.kind = is_behind ? Kind::Unended : Kind::Missing,
                      .ranks = numbering().ranks_of(roots)};
    count_waiting(roots, reason);
    const std::string who = ranks_text(reason.ranks);
    const bool is_one = reason.ranks.size() == 1;
    if (is_behind) {
      const Unended* first = first_of_most(roots);
      reason.call = fmt::format("{} {}", first->call->operation, first->number);
      const std::string how =
          first->is_unbegun
              ? fmt::format("called {} of {}, and {} GPU has not begun it", reason.call,
                            first->group->text(), is_one ? "its" : "their")
              : fmt::format("begun {} of {} and not ended it", reason.call, first->group->text());
      reason.sentence =
          fmt::format("{} {} {}, which others of the group have{}", who, is_one ? "has" : "have",
                      how, waiting_text(reason, reason.ranks.size()));
      return reason;
    }
    const auto waits = waits_for(
        roots, [](const Wait& wait) -> const std::set<RankIndex>& { return wait.missing; });
    reason.call = waits.empty() ? "" : waits.front()->call;
    reason.sentence = fmt::format("{} {} not come to {}{}", who, is_one ? "has" : "have",
                                  calls_text(waits), waiting_text(reason, reason.ranks.size()));
    return reason;
  }

  // What most of these have not ended, and of such calls the first.
  const Unended* first_of_most(const std::set<RankIndex>& roots) const {
    std::map<std::pair<const ProcessGroup*, std::int64_t>, std::size_t> counts;
    for (const Unended& each : waits_.unended()) {
      counts[{each.group, each.number}] += roots.contains(each.rank) ? 1 : 0;
    }
    const auto key = [&](const Unended& each) {
      const std::int64_t created_ns = each.call->created_ns > 0 ? each.call->created_ns : kNoTime;
      return std::tuple(counts[{each.group, each.number}], -created_ns, -each.call->order);
    };
    const Unended* first = nullptr;
    for (const Unended& each : waits_.unended()) {
      if (roots.contains(each.rank) && (first == nullptr || key(each) > key(*first))) {
        first = &each;
      }
    }
    return first;
  }

  WaitReason without_dump(const std::set<RankIndex>& absent) const {
    WaitReason reason{.kind = Kind::WithoutDump, .ranks = numbering().ranks_of(absent)};
    count_waiting(absent, reason);
    const auto waits = waits_for(
        absent, [](const Wait& wait) -> const std::set<RankIndex>& { return wait.missing; });
    reason.call = waits.empty() ? "" : waits.front()->call;
    reason.sentence = fmt::format(
        "{} {} left no dump and {} not seen to come to {}{}", ranks_text(reason.ranks),
        reason.ranks.size() == 1 ? "has" : "have", reason.ranks.size() == 1 ? "was" : "were",
        calls_text(waits), waiting_text(reason, reason.ranks.size()));
    return reason;
  }

  WaitReason without_dump_and_calls(const std::set<RankIndex>& gone,
                                    const std::set<RankIndex>& roots) const {
    WaitReason reason{.kind = Kind::WithoutDump, .ranks = numbering().ranks_of(gone)};
    count_waiting(roots, reason);
    reason.sentence = fmt::format("{} left no dump, while {} did", ranks_text(reason.ranks),
                                  count_text(numbering().dumped()));
    if (!roots.empty()) {
      const std::vector<std::int64_t> idle = numbering().ranks_of(roots);
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
  WaitReason in_cycle(const std::set<RankIndex>& cycle) const {
    WaitReason reason{.kind = Kind::Cycle};
    std::vector<const Wait*> waits;
    for (const Wait& wait : waits_.all()) {
      if (std::ranges::any_of(wait.waiting, [&](RankIndex each) { return cycle.contains(each); }) &&
          std::ranges::any_of(wait.missing, [&](RankIndex each) { return cycle.contains(each); })) {
        waits.push_back(&wait);
      }
    }
    std::ranges::stable_sort(waits, {}, [](const Wait* wait) {
      return std::pair(wait->created_ns, wait->waiting.size());
    });
    std::set<RankIndex> reasons;
    for (const RankIndex each : cycle) {
      if (ranks_[each].leaves_sequence) {
        reasons.insert(each);
      }
    }
    if (reasons.empty() || reasons.size() == cycle.size()) {
      reasons = fewest_of(waits, cycle);
    }
    reason.ranks = numbering().ranks_of(reasons);
    count_waiting(reasons, reason);
    reason.waiting = std::max(reason.waiting, cycle.size() - reasons.size());
    reason.call = waits.empty() ? "" : waits.front()->call;
    std::vector<std::string> parts;
    constexpr std::size_t kMaxParts = 3;
    // First what the reason is in.
    std::ranges::stable_partition(waits, [&](const Wait* wait) {
      return std::ranges::any_of(wait->waiting,
                                 [&](RankIndex each) { return reasons.contains(each); });
    });
    for (std::size_t at = 0; at < std::min(kMaxParts, waits.size()); ++at) {
      parts.push_back(fmt::format("{} {} in {} of {}",
                                  ranks_text(numbering().ranks_of(waits[at]->waiting)),
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
  static std::set<RankIndex> fewest_of(const std::vector<const Wait*>& waits,
                                       const std::set<RankIndex>& cycle) {
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
        first.created_ns != kNoTime && waits.size() > 1 && waits[1]->created_ns > first.created_ns;
    return has_time ? first.missing : cycle;
  }

  // The call that the first ranks to stand still are in; of `ranks`, if there are any.
  WaitReason hung(const std::set<RankIndex>& ranks) const {
    const Wait* first = nullptr;
    for (const Wait& wait : waits_.all()) {
      if (!ranks.empty() && std::ranges::none_of(wait.waiting, [&](RankIndex each) {
            return ranks.contains(each);
          })) {
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
    WaitReason reason{.kind = Kind::Hung, .ranks = numbering().ranks_of(first->waiting)};
    std::set<RankIndex> inside = first->waiting;
    count_waiting(inside, reason);
    reason.call = first->call;
    if (first->is_message) {
      reason.sentence = fmt::format("both ends of {} of {} have begun it, and it has not ended",
                                    first->call, first->group->text());
      return reason;
    }
    const std::size_t elsewhere = reason.waiting > 0 ? 0 : open_elsewhere(inside);
    reason.sentence = fmt::format(
        "{} {} {} of {}, and none has ended it{}", ranks_text(reason.ranks),
        is_begun(*first) ? "have all begun" : "are all in", first->call, first->group->text(),
        elsewhere == 0
            ? waiting_text(reason, reason.ranks.size())
            : fmt::format("; {} other{} {} in calls that they have begun alike", elsewhere,
                          elsewhere == 1 ? "" : "s", elsewhere == 1 ? "is" : "are"));
    return reason;
  }

  // By a rank's GPU, as far as dumps tell; logs say only who has called.
  static bool is_begun(const Wait& wait) {
    return std::ranges::any_of(wait.waiting, [&](RankIndex rank) {
      std::int64_t number = 0;
      const Call* call = open_call_of(*wait.group->states.at(rank), number);
      return call != nullptr && call->is_started;
    });
  }

  std::size_t open_elsewhere(const std::set<RankIndex>& inside) const {
    std::set<RankIndex> others;
    for (const Wait& wait : waits_.all()) {
      for (const RankIndex each : wait.waiting) {
        if (!inside.contains(each)) {
          others.insert(each);
        }
      }
    }
    return others.size();
  }

  std::vector<std::string> lines() const {
    std::vector<const Wait*> sorted;
    for (const Wait& wait : waits_.all()) {
      sorted.push_back(&wait);
    }
    std::ranges::stable_sort(sorted, {}, [](const Wait* wait) {
      return std::tuple(wait->missing.empty(), wait->is_message, wait->created_ns);
    });
    std::vector<std::string> lines;
    for (const Wait* wait : sorted) {
      std::string line = fmt::format("{}: {} {} in {}", wait->group->text(),
                                     ranks_text(numbering().ranks_of(wait->waiting)),
                                     wait->waiting.size() == 1 ? "is" : "are", wait->call);
      if (!wait->missing.empty()) {
        line += fmt::format(", {} {} not come", ranks_text(numbering().ranks_of(wait->missing)),
                            wait->missing.size() == 1 ? "has" : "have");
      }
      if (!wait->unended.empty()) {
        line += fmt::format(", {} {} behind", ranks_text(numbering().ranks_of(wait->unended)),
                            wait->unended.size() == 1 ? "is" : "are");
      }
      lines.push_back(std::move(line));
    }
    return lines;
  }

  const Waits& waits_;
  const std::vector<RankState>& ranks_;
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

WaitReason reason_of(const std::vector<RankState>& ranks) {
  return Reasons(Waits(ranks), ranks).reason();
}

}  // namespace chokepoint::analysis
