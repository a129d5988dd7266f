#include "analysis/compare/host_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace chokepoint::analysis {
namespace {

using Runs = std::vector<const ComparedRun*>;
using Values = std::set<std::string>;
using Place = std::pair<std::string, std::string>;  // subject and key
// The facts of one host by all runs of a row.
using HostFacts = std::map<Place, Values>;

constexpr std::string_view kGpu = "gpu";
constexpr std::string_view kOfEachRun = "MASTER_PORT";  // launchers choose another one each time

// Whether a subject of one side is gone where the other side does not have it. Network, PCI and
// RDMA devices are always read, GPUs not by host::read_settings(): only a side that knows of some
// says that one is missing. Anything else that is not there was not read.
bool is_gone(const std::string& subject, const HostFacts& where) {
  constexpr std::array<std::string_view, 3> kAlwaysRead{"nic ", "pci ", "rdma "};
  if (subject.starts_with(kGpu)) {
    const auto first = where.lower_bound({std::string(kGpu), ""});
    return subject.size() > kGpu.size() && first != where.end() &&
           first->first.first.starts_with(kGpu);
  }
  return std::ranges::any_of(kAlwaysRead,
                             [&](std::string_view prefix) { return subject.starts_with(prefix); });
}

// In the order in which the runs name them.
std::vector<std::pair<std::string, HostFacts>> facts_by_host(const Runs& runs) {
  std::vector<std::pair<std::string, HostFacts>> hosts;
  std::set<std::pair<std::string_view, const host::Settings*>> seen;
  for (const ComparedRun* run : runs) {
    for (const HostSettings& host : run->hosts) {
      if (!seen.emplace(host.host, host.settings.get()).second) {
        continue;  // trials of one document share them
      }
      auto found = std::ranges::find(hosts, host.host, &std::pair<std::string, HostFacts>::first);
      if (found == hosts.end()) {
        found = hosts.insert(hosts.end(), {host.host, {}});
      }
      for (const auto& [subject, values] : *host.settings) {
        for (const auto& [key, value] : values) {
          if (key != kOfEachRun) {
            found->second[{subject, key}].insert(value);
          }
        }
      }
    }
  }
  std::erase_if(hosts, [](const auto& host) { return host.second.empty(); });
  return hosts;
}

std::optional<std::string> text_of(const HostFacts& facts, const Place& place) {
  const auto found = facts.find(place);
  return found == facts.end() ? std::nullopt
                              : std::optional(fmt::format("{}", fmt::join(found->second, " or ")));
}

bool has_subject(const HostFacts& facts, const std::string& subject) {
  const auto first = facts.lower_bound({subject, ""});
  return first != facts.end() && first->first.first == subject;
}

class Changes {
 public:
  void add(const std::string& host, const HostFacts& before, const HostFacts& after) {
    std::set<Place> places;
    for (const HostFacts* side : {&before, &after}) {
      for (const auto& [place, values] : *side) {
        places.insert(place);
      }
    }
    for (const Place& place : places) {
      add(host, place, before, after);
    }
  }

  std::vector<FactChange> take() { return std::move(changes_); }

 private:
  void add(const std::string& host, const Place& place, const HostFacts& before,
           const HostFacts& after) {
    const bool was_there = has_subject(before, place.first);
    const bool is_there = has_subject(after, place.first);
    if (was_there != is_there) {
      if (is_gone(place.first, was_there ? after : before)) {
        add({.subject = place.first,
             .before = was_there ? std::optional<std::string>("there") : std::nullopt,
             .after = is_there ? std::optional<std::string>("there") : std::nullopt},
            host);
      }
      return;
    }
    FactChange change{.subject = place.first,
                      .key = place.second,
                      .before = text_of(before, place),
                      .after = text_of(after, place)};
    // What one side did not read is no difference.
    if (change.before && change.after && change.before != change.after) {
      add(std::move(change), host);
    }
  }

  void add(FactChange change, const std::string& host) {
    const auto as_tuple = [](const FactChange& each) {
      return std::tie(each.subject, each.key, each.before, each.after);
    };
    const auto same = std::ranges::find_if(
        changes_, [&](const FactChange& each) { return as_tuple(each) == as_tuple(change); });
    FactChange& place = same == changes_.end() ? changes_.emplace_back(std::move(change)) : *same;
    if (std::ranges::find(place.hosts, host) == place.hosts.end()) {
      place.hosts.push_back(host);
    }
  }

  std::vector<FactChange> changes_;
};

}  // namespace

host::Settings settings_of(const std::vector<record::Fact>& facts,
                           std::optional<std::int64_t> session) {
  host::Facts own;
  for (const record::Fact& fact : facts) {
    if (!session || fact.session == *session) {
      own.push_back({fact.category, fact.subject, fact.key, fact.value, fact.source});
    }
  }
  return host::settings_of(own);
}

std::vector<FactChange> changes_between(const Runs& before, const Runs& after) {
  auto old_hosts = facts_by_host(before);
  auto new_hosts = facts_by_host(after);
  Changes changes;
  for (auto host = new_hosts.begin(); host != new_hosts.end();) {
    const auto same =
        std::ranges::find(old_hosts, host->first, &std::pair<std::string, HostFacts>::first);
    if (same == old_hosts.end()) {
      ++host;
      continue;
    }
    changes.add(host->first, same->second, host->second);
    old_hosts.erase(same);
    host = new_hosts.erase(host);
  }
  for (std::size_t at = 0; old_hosts.size() == new_hosts.size() && at < new_hosts.size(); ++at) {
    changes.add(fmt::format("{} and {}", old_hosts[at].first, new_hosts[at].first),
                old_hosts[at].second, new_hosts[at].second);
  }
  return changes.take();
}

std::string text_of(const FactChange& change) {
  const std::string what = change.key.empty() ? change.subject : change.subject + " " + change.key;
  const auto shown = [](const std::optional<std::string>& value) {
    return value ? (value->empty() ? "nothing" : *value) : std::string("unknown");
  };
  if (change.key.empty()) {
    return fmt::format("{}: {} {}", fmt::join(change.hosts, ", "), what,
                       change.after ? "is new" : "is gone");
  }
  return fmt::format("{}: {} {} instead of {}", fmt::join(change.hosts, ", "), what,
                     shown(change.after), shown(change.before));
}

void tell_apart_by_facts(std::vector<ComparedRun>& runs) {
  constexpr std::size_t kMaxNamed = 2;
  constexpr std::size_t kMostRuns = 256;  // more are not named one by one
  if (runs.size() > kMostRuns) {
    return;
  }
  std::vector<std::vector<std::size_t>> classes;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const auto alike = std::ranges::find_if(classes, [&](const auto& members) {
      return changes_between({&runs[members.front()]}, {&runs[run]}).empty();
    });
    alike == classes.end() ? classes.push_back({run}) : alike->push_back(run);
  }
  if (classes.size() < 2 ||
      std::ranges::any_of(classes, [](const auto& members) { return members.size() < 2; })) {
    return;
  }
  const Runs first{&runs[classes.front().front()]};
  for (const auto& members : classes) {
    // Of the first one, how it differs from the second.
    const bool is_first = &members == &classes.front();
    const Runs one{&runs[(is_first ? classes[1] : members).front()]};
    const std::vector<FactChange> changes = changes_between(first, one);
    std::string text;
    for (std::size_t at = 0; at < std::min(kMaxNamed, changes.size()); ++at) {
      const FactChange& change = changes[at];
      text += fmt::format("{}{}={}", text.empty() ? "" : " ",
                          change.key.empty() ? change.subject : change.key,
                          (is_first ? change.before : change.after).value_or("unknown"));
    }
    for (const std::size_t run : members) {
      runs[run].facts = text;
    }
  }
}

}  // namespace chokepoint::analysis
