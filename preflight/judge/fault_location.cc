#include "preflight/judge/fault_location.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace chokepoint::preflight {
namespace {

// The ways that are not yet explained, counted for each host, each direction and each pair. The
// search for the fault takes out what it has explained.
class PathLossCounts {
 public:
  struct PairParts {
    HostIndex a = 0;
    HostIndex b = 0;
    PathIndex path_there = 0;
    PathIndex path_back = 0;
    Part there = {};
    Part back = {};
  };
  struct Between {
    Part there = {};
    Part back = {};
  };

  PathLossCounts(std::size_t hosts, std::span<const Tested> tested);

  std::size_t hosts_tested() const { return hosts_tested_; }
  const Part& all() const { return all_; }
  const Part& out(HostIndex host) const { return out_[host]; }
  const Part& in(HostIndex host) const { return in_[host]; }
  // What it sends or receives, but for the way that suffers most.
  Part without_worst(HostIndex host, bool sends) const;
  // All ways that neither begin nor end at this host.
  Part among_others(HostIndex host) const;
  // With a way that suffers, in order.
  std::vector<HostIndex> suffering_hosts() const;
  std::vector<PairParts> suffering_pairs() const;
  // Hosts joined by pairs of which no tested way suffers, each group in order.
  std::vector<std::vector<HostIndex>> groups() const;
  Between between(std::span<const HostIndex> group, std::span<const HostIndex> others) const;

  // Explained: taken out, and the ones that suffered handed back.
  std::vector<PathIndex> take(HostIndex host, bool sends, bool receives);
  std::vector<PathIndex> take_between(std::span<const HostIndex> group,
                                      std::span<const HostIndex> others);
  std::vector<PathIndex> take_all();

 private:
  void take_path(std::size_t index, std::vector<PathIndex>& suffering);

  std::vector<Tested> tested_;
  std::vector<bool> taken_;
  std::vector<std::uint32_t> first_;  // of each host's in `at_`; one more than hosts
  std::vector<std::uint32_t> at_;     // the tested ways that begin or end at a host
  std::vector<Part> out_;
  std::vector<Part> in_;
  Part all_ = {};
  std::size_t hosts_tested_ = 0;
};

constexpr std::uint8_t kInGroup = 1;
constexpr std::uint8_t kInOthers = 2;

void add(Part& part, const Tested& path) {
  ++part.paths;
  part.suffering += path.lost > 0 ? 1 : 0;
  part.sent += path.sent;
  part.lost += path.lost;
  part.lost_squared += path.lost * path.lost;
}

void subtract(Part& part, const Tested& path) {
  --part.paths;
  part.suffering -= path.lost > 0 ? 1 : 0;
  part.sent -= path.sent;
  part.lost -= path.lost;
  part.lost_squared -= path.lost * path.lost;
}

std::uint64_t pair_of(const Tested& path) { return pair_key(path.from, path.to); }

HostIndex root_of(std::vector<HostIndex>& parents, HostIndex host) {
  while (parents[host] != host) {
    parents[host] = parents[parents[host]];
    host = parents[host];
  }
  return host;
}

PathLossCounts::PathLossCounts(std::size_t hosts, std::span<const Tested> tested)
    : tested_(tested.begin(), tested.end()),
      taken_(tested.size()),
      first_(hosts + 1),
      at_(2 * tested.size()),
      out_(hosts),
      in_(hosts) {
  for (const Tested& path : tested_) {
    add(out_[path.from], path);
    add(in_[path.to], path);
    add(all_, path);
  }
  for (std::size_t host = 0; host < hosts; ++host) {
    const std::size_t paths = out_[host].paths + in_[host].paths;
    hosts_tested_ += paths > 0 ? 1 : 0;
    first_[host + 1] = first_[host] + static_cast<std::uint32_t>(paths);
  }
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t index = 0; index < tested_.size(); ++index) {
    at_[next[tested_[index].from]++] = index;
    at_[next[tested_[index].to]++] = index;
  }
}

std::vector<HostIndex> PathLossCounts::suffering_hosts() const {
  std::vector<HostIndex> hosts;
  for (HostIndex host = 0; host < out_.size(); ++host) {
    if (out_[host].suffering + in_[host].suffering > 0) {
      hosts.push_back(host);
    }
  }
  return hosts;
}

std::vector<PathLossCounts::PairParts> PathLossCounts::suffering_pairs() const {
  std::map<std::uint64_t, PairParts> pairs;
  for (std::size_t index = 0; index < tested_.size(); ++index) {
    const Tested& path = tested_[index];
    if (taken_[index] || path.lost <= 0) {
      continue;
    }
    PairParts& pair = pairs[pair_of(path)];
    pair.a = std::min(path.from, path.to);
    pair.b = std::max(path.from, path.to);
    const bool there = path.from == pair.a;
    (there ? pair.path_there : pair.path_back) = path.path;
    add(there ? pair.there : pair.back, path);
  }
  std::vector<PairParts> result;
  for (const auto& [key, pair] : pairs) {
    result.push_back(pair);
  }
  return result;
}

std::vector<std::vector<HostIndex>> PathLossCounts::groups() const {
  std::vector<std::uint64_t> bad;
  for (const Tested& path : tested_) {
    if (path.lost > 0) {
      bad.push_back(pair_of(path));
    }
  }
  std::ranges::sort(bad);
  std::vector<HostIndex> parents(out_.size());
  std::iota(parents.begin(), parents.end(), 0U);
  for (const Tested& path : tested_) {
    if (path.lost <= 0 && !std::ranges::binary_search(bad, pair_of(path))) {
      parents[root_of(parents, path.from)] = root_of(parents, path.to);
    }
  }
  std::map<HostIndex, std::vector<HostIndex>> members;
  for (HostIndex host = 0; host < parents.size(); ++host) {
    if (out_[host].paths + in_[host].paths > 0) {
      members[root_of(parents, host)].push_back(host);
    }
  }
  std::vector<std::vector<HostIndex>> result;
  for (auto& [root, hosts] : members) {
    result.push_back(std::move(hosts));
  }
  return result;
}

PathLossCounts::Between PathLossCounts::between(std::span<const HostIndex> group,
                                                std::span<const HostIndex> others) const {
  const std::vector<std::uint8_t> side = sides_of(out_.size(), group, others);
  Between result;
  for (const Tested& path : tested_) {
    if (side[path.from] == kInGroup && side[path.to] == kInOthers) {
      add(result.there, path);
    } else if (side[path.from] == kInOthers && side[path.to] == kInGroup) {
      add(result.back, path);
    }
  }
  return result;
}

void PathLossCounts::take_path(std::size_t index, std::vector<PathIndex>& suffering) {
  if (taken_[index]) {
    return;
  }
  const Tested& path = tested_[index];
  taken_[index] = true;
  subtract(out_[path.from], path);
  subtract(in_[path.to], path);
  subtract(all_, path);
  if (path.lost > 0) {
    suffering.push_back(path.path);
  }
}

Part PathLossCounts::without_worst(HostIndex host, bool sends) const {
  Part part = sends ? out_[host] : in_[host];
  const Tested* worst = nullptr;
  for (std::uint32_t place = first_[host]; place < first_[host + 1]; ++place) {
    const Tested& path = tested_[at_[place]];
    if (!taken_[at_[place]] && (path.from == host) == sends &&
        (worst == nullptr || path.lost > worst->lost)) {
      worst = &path;
    }
  }
  if (worst != nullptr) {
    subtract(part, *worst);
  }
  return part;
}

Part PathLossCounts::among_others(HostIndex host) const {
  Part part;
  for (std::size_t index = 0; index < tested_.size(); ++index) {
    const Tested& path = tested_[index];
    if (!taken_[index] && path.from != host && path.to != host) {
      add(part, path);
    }
  }
  return part;
}

std::vector<PathIndex> PathLossCounts::take(HostIndex host, bool sends, bool receives) {
  std::vector<PathIndex> suffering;
  for (std::uint32_t place = first_[host]; place < first_[host + 1]; ++place) {
    const Tested& path = tested_[at_[place]];
    if (path.from == host ? sends : receives) {
      take_path(at_[place], suffering);
    }
  }
  return suffering;
}

std::vector<PathIndex> PathLossCounts::take_between(std::span<const HostIndex> group,
                                                    std::span<const HostIndex> others) {
  const std::vector<std::uint8_t> side = sides_of(out_.size(), group, others);
  std::vector<PathIndex> suffering;
  for (std::size_t index = 0; index < tested_.size(); ++index) {
    if ((side[tested_[index].from] | side[tested_[index].to]) == (kInGroup | kInOthers)) {
      take_path(index, suffering);
    }
  }
  return suffering;
}

std::vector<PathIndex> PathLossCounts::take_all() {
  std::vector<PathIndex> suffering;
  for (std::size_t index = 0; index < tested_.size(); ++index) {
    take_path(index, suffering);
  }
  return suffering;
}

// Of a port's paths that may suffer by chance, the shares that have to suffer.
constexpr double kMinPortShare = 0.7;
constexpr double kMinLoosePortShare = 0.5;
constexpr double kMinClusterShare = 0.9;  // of a cluster's paths, or of those of two groups
constexpr double kLooseAlarm = 0.01;
constexpr double kRestAlarm = 0.1;
constexpr std::size_t kMinPathsBetween = 4;  // two groups
constexpr std::size_t kMaxGroups = 16;

// How many ways bear the loss, as if those that do had the same: one bad way among strays is one.
double bearing(const Part& part) {
  return part.lost_squared > 0 ? part.lost * part.lost / part.lost_squared : 0;
}

// The same where chance (Poisson) shares out evenly.
double bearing_evenly(const Part& part) {
  const double mean = part.lost / static_cast<double>(part.paths);
  return static_cast<double>(part.paths) * mean / (mean + 1);
}

bool is_spread(const Part& part, double share) {
  return part.suffering > 0 && bearing(part) >= share * bearing_evenly(part);
}

class Search {
 public:
  Search(std::size_t hosts, std::span<const Tested> tested, const Significance& significance,
         double false_alarm)
      : counts_(hosts, tested), significance_(significance) {
    // As many as there are explanations to choose from.
    const auto explanations = static_cast<double>(3 * counts_.hosts_tested() + 2 * tested.size());
    false_alarm_ = false_alarm / std::max(explanations, 1.0);
  }

  std::vector<FaultLocation> run();

 private:
  bool is_port(HostIndex host, bool sends) const {
    const Part& part = sends ? counts_.out(host) : counts_.in(host);
    return part.suffering >= 2 && is_spread(part, kMinPortShare) &&
           significance_(part, false_alarm_) &&
           significance_(counts_.without_worst(host, sends), kRestAlarm);
  }
  bool is_likely(const Part& part) const {
    return is_spread(part, kMinLoosePortShare) && significance_(part, kLooseAlarm);
  }
  bool suffer_without_worst() const;
  bool locate_in_network();
  void locate_in_groups();
  void add_uplink(std::vector<HostIndex> group, std::vector<HostIndex> rest);
  bool locate_in_worst_port();
  void locate_in_remaining_pairs();
  void add_pair(const PathLossCounts::PairParts& pair);

  PathLossCounts counts_;
  const Significance& significance_;
  double false_alarm_ = 0;
  std::vector<FaultLocation> found_ = {};
};

// Without the host that suffers most the others must suffer as well.
bool Search::suffer_without_worst() const {
  HostIndex worst = 0;
  double most = -1;
  for (const HostIndex host : counts_.suffering_hosts()) {
    const double lost = counts_.out(host).lost + counts_.in(host).lost;
    if (lost > most) {
      most = lost;
      worst = host;
    }
  }
  const Part& all = counts_.all();
  const Part rest = counts_.among_others(worst);
  return rest.paths > 0 && significance_(rest, kLooseAlarm) &&
         rest.lost * all.sent >= kMinLoosePortShare * all.lost * rest.sent;
}

bool Search::locate_in_network() {
  const Part all = counts_.all();
  if (counts_.hosts_tested() < 3 || !is_spread(all, kMinClusterShare) ||
      !significance_(all, false_alarm_) || !suffer_without_worst()) {
    return false;
  }
  found_.push_back({.place = Place::Cluster, .paths = counts_.take_all()});
  return true;
}

void Search::add_uplink(std::vector<HostIndex> group, std::vector<HostIndex> rest) {
  const PathLossCounts::Between between = counts_.between(group, rest);
  const bool there = is_spread(between.there, kMinClusterShare);
  const bool back = is_spread(between.back, kMinClusterShare);
  if ((!there && !back) || between.there.paths + between.back.paths < kMinPathsBetween ||
      !significance_(there ? between.there : between.back, false_alarm_)) {
    return;
  }
  std::vector<PathIndex> paths = counts_.take_between(group, rest);
  found_.push_back({.place = Place::Uplink,
                    .hosts = std::move(group),
                    .others = std::move(rest),
                    .sends = there,
                    .receives = back,
                    .paths = std::move(paths)});
}

// Hosts that are well with each other, directly or through others, make a group. One alone is a bad
// host.
void Search::locate_in_groups() {
  std::vector<std::vector<HostIndex>> groups = counts_.groups();
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  std::ranges::stable_sort(groups, {}, &std::vector<HostIndex>::size);
  if (groups.size() > kMaxGroups) {
    return;
  }
  while (groups.size() >= 2) {
    std::vector<HostIndex> rest;
    for (std::size_t index = 1; index < groups.size(); ++index) {
      rest.insert(rest.end(), groups[index].begin(), groups[index].end());
    }
    std::ranges::sort(rest);
    add_uplink(groups.front(), std::move(rest));
    groups.erase(groups.begin());
  }
}

bool Search::locate_in_worst_port() {
  std::optional<HostIndex> worst;
  double most = 0;
  for (const HostIndex host : counts_.suffering_hosts()) {
    const double lost = (is_port(host, true) ? counts_.out(host).lost : 0) +
                        (is_port(host, false) ? counts_.in(host).lost : 0);
    if (lost > most) {
      most = lost;
      worst = host;
    }
  }
  if (!worst) {
    return false;
  }
  FaultLocation one{.place = Place::Port, .hosts = {*worst}};
  one.sends = is_port(*worst, true) || is_likely(counts_.out(*worst));
  one.receives = is_port(*worst, false) || is_likely(counts_.in(*worst));
  one.paths = counts_.take(*worst, one.sends, one.receives);
  found_.push_back(std::move(one));
  return true;
}

void Search::add_pair(const PathLossCounts::PairParts& pair) {
  const Part both = {.paths = 2,
                     .suffering = 2,
                     .sent = pair.there.sent + pair.back.sent,
                     .lost = pair.there.lost + pair.back.lost};
  if (pair.there.lost > 0 && pair.back.lost > 0 && significance_(both, false_alarm_)) {
    found_.push_back({.place = Place::Pair,
                      .hosts = {std::min(pair.a, pair.b), std::max(pair.a, pair.b)},
                      .paths = {pair.path_there, pair.path_back}});
    return;
  }
  if (pair.there.lost > 0 && significance_(pair.there, false_alarm_)) {
    found_.push_back(
        {.place = Place::DirectedPath, .hosts = {pair.a, pair.b}, .paths = {pair.path_there}});
  }
  if (pair.back.lost > 0 && significance_(pair.back, false_alarm_)) {
    found_.push_back(
        {.place = Place::DirectedPath, .hosts = {pair.b, pair.a}, .paths = {pair.path_back}});
  }
}

void Search::locate_in_remaining_pairs() {
  for (const PathLossCounts::PairParts& pair : counts_.suffering_pairs()) {
    add_pair(pair);
  }
}

std::vector<FaultLocation> Search::run() {
  if (counts_.all().suffering == 0 || locate_in_network()) {
    return std::move(found_);
  }
  locate_in_groups();
  while (locate_in_worst_port()) {
  }
  locate_in_remaining_pairs();
  return std::move(found_);
}

}  // namespace

std::vector<std::uint8_t> sides_of(std::size_t hosts, std::span<const HostIndex> group,
                                   std::span<const HostIndex> others) {
  std::vector<std::uint8_t> sides(hosts);
  for (const HostIndex host : group) {
    sides[host] = kInGroup;
  }
  for (const HostIndex host : others) {
    sides[host] = kInOthers;
  }
  return sides;
}

std::vector<FaultLocation> locate_faults(std::size_t hosts, std::span<const Tested> tested,
                                         const Significance& significance, double false_alarm) {
  return Search(hosts, tested, significance, false_alarm).run();
}

std::vector<FaultLocation> locate_faults(std::size_t hosts, std::span<const Tested> tested) {
  std::vector<Tested> weighty(tested.begin(), tested.end());
  // So many that chance has no part in it.
  constexpr double kMany = 1000;
  for (Tested& one : weighty) {
    one.lost = one.lost > 0 ? kMany : 0;
  }
  return locate_faults(hosts, weighty, [](const Part& part, double) { return part.lost > 0; }, 1);
}

}  // namespace chokepoint::preflight
