#include "preflight/judge/blame_book.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace chokepoint::preflight {
namespace {

constexpr std::uint8_t kInGroup = 1;
constexpr std::uint8_t kInOthers = 2;

void add(Part& part, const Tested& way) {
  ++part.ways;
  part.suffering += way.lost > 0 ? 1 : 0;
  part.sent += way.sent;
  part.lost += way.lost;
  part.lost_squared += way.lost * way.lost;
}

void subtract(Part& part, const Tested& way) {
  --part.ways;
  part.suffering -= way.lost > 0 ? 1 : 0;
  part.sent -= way.sent;
  part.lost -= way.lost;
  part.lost_squared -= way.lost * way.lost;
}

std::uint64_t pair_of(const Tested& way) {
  return (std::uint64_t{std::min(way.from, way.to)} << 32) | std::max(way.from, way.to);
}

HostIndex root_of(std::vector<HostIndex>& parents, HostIndex host) {
  while (parents[host] != host) {
    parents[host] = parents[parents[host]];
    host = parents[host];
  }
  return host;
}

}  // namespace

WaysBook::WaysBook(std::size_t hosts, std::span<const Tested> tested)
    : tested_(tested.begin(), tested.end()),
      taken_(tested.size()),
      first_(hosts + 1),
      at_(2 * tested.size()),
      out_(hosts),
      in_(hosts) {
  for (const Tested& way : tested_) {
    add(out_[way.from], way);
    add(in_[way.to], way);
    add(all_, way);
  }
  for (std::size_t host = 0; host < hosts; ++host) {
    const std::size_t ways = out_[host].ways + in_[host].ways;
    hosts_tested_ += ways > 0 ? 1 : 0;
    first_[host + 1] = first_[host] + static_cast<std::uint32_t>(ways);
  }
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t index = 0; index < tested_.size(); ++index) {
    at_[next[tested_[index].from]++] = index;
    at_[next[tested_[index].to]++] = index;
  }
}

std::vector<HostIndex> WaysBook::suffering_hosts() const {
  std::vector<HostIndex> hosts;
  for (HostIndex host = 0; host < out_.size(); ++host) {
    if (out_[host].suffering + in_[host].suffering > 0) {
      hosts.push_back(host);
    }
  }
  return hosts;
}

std::vector<WaysBook::PairParts> WaysBook::suffering_pairs() const {
  std::map<std::uint64_t, PairParts> pairs;
  for (std::size_t index = 0; index < tested_.size(); ++index) {
    const Tested& way = tested_[index];
    if (taken_[index] || way.lost <= 0) {
      continue;
    }
    PairParts& pair = pairs[pair_of(way)];
    pair.a = std::min(way.from, way.to);
    pair.b = std::max(way.from, way.to);
    const bool there = way.from == pair.a;
    (there ? pair.way_there : pair.way_back) = way.way;
    add(there ? pair.there : pair.back, way);
  }
  std::vector<PairParts> result;
  for (const auto& [key, pair] : pairs) {
    result.push_back(pair);
  }
  return result;
}

std::vector<std::vector<HostIndex>> WaysBook::groups() const {
  std::vector<std::uint64_t> bad;
  for (const Tested& way : tested_) {
    if (way.lost > 0) {
      bad.push_back(pair_of(way));
    }
  }
  std::ranges::sort(bad);
  std::vector<HostIndex> parents(out_.size());
  std::iota(parents.begin(), parents.end(), 0U);
  for (const Tested& way : tested_) {
    if (way.lost <= 0 && !std::ranges::binary_search(bad, pair_of(way))) {
      parents[root_of(parents, way.from)] = root_of(parents, way.to);
    }
  }
  std::map<HostIndex, std::vector<HostIndex>> members;
  for (HostIndex host = 0; host < parents.size(); ++host) {
    if (out_[host].ways + in_[host].ways > 0) {
      members[root_of(parents, host)].push_back(host);
    }
  }
  std::vector<std::vector<HostIndex>> result;
  for (auto& [root, hosts] : members) {
    result.push_back(std::move(hosts));
  }
  return result;
}

std::vector<std::uint8_t> WaysBook::sides(std::span<const HostIndex> group,
                                          std::span<const HostIndex> others) const {
  std::vector<std::uint8_t> sides(out_.size());
  for (const HostIndex host : group) {
    sides[host] = kInGroup;
  }
  for (const HostIndex host : others) {
    sides[host] = kInOthers;
  }
  return sides;
}

WaysBook::Between WaysBook::between(std::span<const HostIndex> group,
                                    std::span<const HostIndex> others) const {
  const std::vector<std::uint8_t> side = sides(group, others);
  Between result;
  for (const Tested& way : tested_) {
    if (side[way.from] == kInGroup && side[way.to] == kInOthers) {
      add(result.there, way);
    } else if (side[way.from] == kInOthers && side[way.to] == kInGroup) {
      add(result.back, way);
    }
  }
  return result;
}

void WaysBook::take_way(std::size_t index, std::vector<WayIndex>& suffering) {
  if (taken_[index]) {
    return;
  }
  const Tested& way = tested_[index];
  taken_[index] = true;
  subtract(out_[way.from], way);
  subtract(in_[way.to], way);
  subtract(all_, way);
  if (way.lost > 0) {
    suffering.push_back(way.way);
  }
}

Part WaysBook::without_worst(HostIndex host, bool sends) const {
  Part part = sends ? out_[host] : in_[host];
  const Tested* worst = nullptr;
  for (std::uint32_t place = first_[host]; place < first_[host + 1]; ++place) {
    const Tested& way = tested_[at_[place]];
    if (!taken_[at_[place]] && (way.from == host) == sends &&
        (worst == nullptr || way.lost > worst->lost)) {
      worst = &way;
    }
  }
  if (worst != nullptr) {
    subtract(part, *worst);
  }
  return part;
}

Part WaysBook::among_others(HostIndex host) const {
  Part part;
  for (std::size_t index = 0; index < tested_.size(); ++index) {
    const Tested& way = tested_[index];
    if (!taken_[index] && way.from != host && way.to != host) {
      add(part, way);
    }
  }
  return part;
}

std::vector<WayIndex> WaysBook::take(HostIndex host, bool sends, bool receives) {
  std::vector<WayIndex> suffering;
  for (std::uint32_t place = first_[host]; place < first_[host + 1]; ++place) {
    const Tested& way = tested_[at_[place]];
    if (way.from == host ? sends : receives) {
      take_way(at_[place], suffering);
    }
  }
  return suffering;
}

std::vector<WayIndex> WaysBook::take_between(std::span<const HostIndex> group,
                                             std::span<const HostIndex> others) {
  const std::vector<std::uint8_t> side = sides(group, others);
  std::vector<WayIndex> suffering;
  for (std::size_t index = 0; index < tested_.size(); ++index) {
    if ((side[tested_[index].from] | side[tested_[index].to]) == (kInGroup | kInOthers)) {
      take_way(index, suffering);
    }
  }
  return suffering;
}

std::vector<WayIndex> WaysBook::take_all() {
  std::vector<WayIndex> suffering;
  for (std::size_t index = 0; index < tested_.size(); ++index) {
    take_way(index, suffering);
  }
  return suffering;
}

}  // namespace chokepoint::preflight
