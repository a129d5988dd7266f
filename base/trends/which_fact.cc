#include "base/trends/which_fact.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace chokepoint::trends {
namespace {

bool may_be_together(const TimeBetween& one, const TimeBetween& other) {
  return one.after_ns < other.until_ns && other.after_ns < one.until_ns;
}

bool has_effect(const SettingChange& change, std::span<const EffectOnHost> effects) {
  return std::ranges::any_of(effects, [&](const EffectOnHost& effect) {
    return effect.host == change.host && may_be_together(effect.time, change.time);
  });
}

std::int64_t length_ns(const TimeBetween& time) { return time.until_ns - time.after_ns; }

FactLink link_of(const SettingChange& here, std::span<const EffectOnHost> effects,
                 std::span<const SettingChange> changes) {
  std::set<std::string_view> with;
  std::set<std::string_view> without;
  FactLink link{.fact = here.fact,
                .old_value = here.old_value,
                .new_value = here.new_value,
                .time = here.time};
  for (const SettingChange& change : changes) {
    if (change.fact != here.fact) {
      continue;
    }
    const bool is_same = change.new_value == here.new_value;
    if (has_effect(change, effects)) {
      if (is_same) with.insert(change.host);
    } else if (is_same) {
      without.insert(change.host);
    } else {
      ++link.other_changes;
    }
  }
  std::set<std::string_view> affected;
  for (const EffectOnHost& effect : effects) {
    affected.insert(effect.host);
  }
  link.hosts_with_both = with.size();
  link.hosts_without_effect = without.size();
  link.hosts_without_fact = static_cast<std::size_t>(
      std::ranges::count_if(affected, [&](std::string_view host) { return !with.contains(host); }));
  const auto both = static_cast<double>(with.size());
  const auto all = static_cast<double>(with.size() + without.size() + link.other_changes);
  link.share = (both + 1) / (all + 2);
  return link;
}

}  // namespace

std::vector<FactLink> which_fact(const EffectOnHost& asked, std::span<const EffectOnHost> effects,
                                 std::span<const SettingChange> changes) {
  std::vector<EffectOnHost> all(effects.begin(), effects.end());
  all.push_back(asked);
  std::vector<FactLink> links;
  for (const SettingChange& change : changes) {
    if (change.host == asked.host && may_be_together(change.time, asked.time)) {
      links.push_back(link_of(change, all, changes));
    }
  }
  std::ranges::stable_sort(links, [](const FactLink& one, const FactLink& other) {
    return std::tuple(-one.share, one.hosts_without_fact, length_ns(one.time), one.fact) <
           std::tuple(-other.share, other.hosts_without_fact, length_ns(other.time), other.fact);
  });
  return links;
}

}  // namespace chokepoint::trends
