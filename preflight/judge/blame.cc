#include "preflight/judge/blame.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "preflight/judge/blame_book.h"

namespace chokepoint::preflight {
namespace {

constexpr double kNearlyAllOfPart = 0.7;  // of a port's ways, of those that chance lets suffer
constexpr double kMostOfPart = 0.5;
constexpr double kWhole = 0.9;  // of a cluster's, or of two groups'
constexpr double kLooseAlarm = 0.01;
constexpr double kRestAlarm = 0.1;
constexpr std::size_t kFewestForGroups = 4;  // ways between them
constexpr std::size_t kMostGroups = 16;

// How many ways bear the loss, as if those that do had the same: one bad way among strays is one.
double bearing(const Part& part) {
  return part.lost_squared > 0 ? part.lost * part.lost / part.lost_squared : 0;
}

// The same where chance (Poisson) shares out evenly.
double bearing_evenly(const Part& part) {
  const double mean = part.lost / static_cast<double>(part.ways);
  return static_cast<double>(part.ways) * mean / (mean + 1);
}

bool is_spread(const Part& part, double share) {
  return part.suffering > 0 && bearing(part) >= share * bearing_evenly(part);
}

class Search {
 public:
  Search(std::size_t hosts, std::span<const Tested> tested, const Significance& significance,
         double false_alarm)
      : book_(hosts, tested), significance_(significance) {
    // As many as there are explanations to choose from.
    const auto explanations = static_cast<double>(3 * book_.hosts_tested() + 2 * tested.size());
    false_alarm_ = false_alarm / std::max(explanations, 1.0);
  }

  std::vector<Blame> run();

 private:
  bool is_port(HostIndex host, bool sends) const {
    const Part& part = sends ? book_.out(host) : book_.in(host);
    return part.suffering >= 2 && is_spread(part, kNearlyAllOfPart) &&
           significance_(part, false_alarm_) &&
           significance_(book_.without_worst(host, sends), kRestAlarm);
  }
  bool is_likely(const Part& part) const {
    return is_spread(part, kMostOfPart) && significance_(part, kLooseAlarm);
  }
  bool suffer_without_worst() const;
  bool blame_all();
  void blame_groups();
  void blame_uplink(std::vector<HostIndex> group, std::vector<HostIndex> rest);
  bool blame_worst_port();
  void blame_what_is_left();
  void blame_pair(const WaysBook::PairParts& pair);

  WaysBook book_;
  const Significance& significance_;
  double false_alarm_ = 0;
  std::vector<Blame> found_ = {};
};

// Without the host that suffers most the others must suffer as well.
bool Search::suffer_without_worst() const {
  HostIndex worst = 0;
  double most = -1;
  for (const HostIndex host : book_.suffering_hosts()) {
    const double lost = book_.out(host).lost + book_.in(host).lost;
    if (lost > most) {
      most = lost;
      worst = host;
    }
  }
  const Part& all = book_.all();
  const Part rest = book_.among_others(worst);
  return rest.ways > 0 && significance_(rest, kLooseAlarm) &&
         rest.lost * all.sent >= kMostOfPart * all.lost * rest.sent;
}

bool Search::blame_all() {
  const Part all = book_.all();
  if (book_.hosts_tested() < 3 || !is_spread(all, kWhole) || !significance_(all, false_alarm_) ||
      !suffer_without_worst()) {
    return false;
  }
  found_.push_back({.place = Place::Cluster, .ways = book_.take_all()});
  return true;
}

void Search::blame_uplink(std::vector<HostIndex> group, std::vector<HostIndex> rest) {
  const WaysBook::Between between = book_.between(group, rest);
  const bool there = is_spread(between.there, kWhole);
  const bool back = is_spread(between.back, kWhole);
  if ((!there && !back) || between.there.ways + between.back.ways < kFewestForGroups ||
      !significance_(there ? between.there : between.back, false_alarm_)) {
    return;
  }
  std::vector<WayIndex> ways = book_.take_between(group, rest);
  found_.push_back({.place = Place::Uplink,
                    .hosts = std::move(group),
                    .others = std::move(rest),
                    .sends = there,
                    .receives = back,
                    .ways = std::move(ways)});
}

// Hosts that are well with each other, directly or through others, make a group. One alone is a bad
// host.
void Search::blame_groups() {
  std::vector<std::vector<HostIndex>> groups = book_.groups();
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  std::ranges::stable_sort(groups, {}, &std::vector<HostIndex>::size);
  if (groups.size() > kMostGroups) {
    return;
  }
  while (groups.size() >= 2) {
    std::vector<HostIndex> rest;
    for (std::size_t index = 1; index < groups.size(); ++index) {
      rest.insert(rest.end(), groups[index].begin(), groups[index].end());
    }
    std::ranges::sort(rest);
    blame_uplink(groups.front(), std::move(rest));
    groups.erase(groups.begin());
  }
}

bool Search::blame_worst_port() {
  std::optional<HostIndex> worst;
  double most = 0;
  for (const HostIndex host : book_.suffering_hosts()) {
    const double lost = (is_port(host, true) ? book_.out(host).lost : 0) +
                        (is_port(host, false) ? book_.in(host).lost : 0);
    if (lost > most) {
      most = lost;
      worst = host;
    }
  }
  if (!worst) {
    return false;
  }
  Blame one{.place = Place::Port, .hosts = {*worst}};
  one.sends = is_port(*worst, true) || is_likely(book_.out(*worst));
  one.receives = is_port(*worst, false) || is_likely(book_.in(*worst));
  one.ways = book_.take(*worst, one.sends, one.receives);
  found_.push_back(std::move(one));
  return true;
}

void Search::blame_pair(const WaysBook::PairParts& pair) {
  const Part both = {.ways = 2,
                     .suffering = 2,
                     .sent = pair.there.sent + pair.back.sent,
                     .lost = pair.there.lost + pair.back.lost};
  if (pair.there.lost > 0 && pair.back.lost > 0 && significance_(both, false_alarm_)) {
    found_.push_back({.place = Place::Pair,
                      .hosts = {std::min(pair.a, pair.b), std::max(pair.a, pair.b)},
                      .ways = {pair.way_there, pair.way_back}});
    return;
  }
  if (pair.there.lost > 0 && significance_(pair.there, false_alarm_)) {
    found_.push_back({.place = Place::Way, .hosts = {pair.a, pair.b}, .ways = {pair.way_there}});
  }
  if (pair.back.lost > 0 && significance_(pair.back, false_alarm_)) {
    found_.push_back({.place = Place::Way, .hosts = {pair.b, pair.a}, .ways = {pair.way_back}});
  }
}

void Search::blame_what_is_left() {
  for (const WaysBook::PairParts& pair : book_.suffering_pairs()) {
    blame_pair(pair);
  }
}

std::vector<Blame> Search::run() {
  if (book_.all().suffering == 0 || blame_all()) {
    return std::move(found_);
  }
  blame_groups();
  while (blame_worst_port()) {
  }
  blame_what_is_left();
  return std::move(found_);
}

}  // namespace

std::vector<Blame> blame(std::size_t hosts, std::span<const Tested> tested,
                         const Significance& significance, double false_alarm) {
  return Search(hosts, tested, significance, false_alarm).run();
}

std::vector<Blame> blame(std::size_t hosts, std::span<const Tested> tested) {
  std::vector<Tested> weighty(tested.begin(), tested.end());
  // So many that chance has no part in it.
  constexpr double kMany = 1000;
  for (Tested& one : weighty) {
    one.lost = one.lost > 0 ? kMany : 0;
  }
  return blame(hosts, weighty, [](const Part& part, double) { return part.lost > 0; }, 1);
}

}  // namespace chokepoint::preflight
