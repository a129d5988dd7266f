#include "preflight/report/heat_map.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "preflight/report/yardstick.h"

namespace chokepoint::preflight {
namespace {

constexpr std::size_t kEnough = 12;  // where not all find room, so many that suffer little

// How many ways from or to each host stand out. A host that sends badly has all of its ways here,
// each of its receivers one.
std::vector<std::size_t> poor_ways(const Measured& measured, const Yardstick& yardstick) {
  std::vector<std::size_t> poor(measured.hosts.size());
  const auto note = [&](HostIndex a, HostIndex b, bool is_poor) {
    poor[a] += is_poor ? 1 : 0;
    poor[b] += is_poor ? 1 : 0;
  };
  for (const PairResult& pair : measured.pairs) {
    note(pair.a, pair.b, yardstick.share(pair.a, pair.b, pair.there).value_or(1) < kFairShare);
    note(pair.a, pair.b, yardstick.share(pair.b, pair.a, pair.back).value_or(1) < kFairShare);
  }
  for (const Trouble& trouble : measured.troubles) {
    note(trouble.a, trouble.b, true);
  }
  return poor;
}

// Hosts that any pair or any trouble names.
std::vector<HostIndex> hosts_seen(const Measured& measured) {
  std::vector<bool> is_seen(measured.hosts.size());
  for (const PairResult& pair : measured.pairs) {
    is_seen[pair.a] = is_seen[pair.b] = true;
  }
  for (const Trouble& trouble : measured.troubles) {
    is_seen[trouble.a] = is_seen[trouble.b] = true;
  }
  std::vector<HostIndex> hosts;
  for (HostIndex host = 0; host < is_seen.size(); ++host) {
    if (is_seen[host]) {
      hosts.push_back(host);
    }
  }
  return hosts;
}

void keep_worst(std::vector<HostIndex>& hosts, std::size_t most,
                const std::vector<std::size_t>& poor) {
  std::ranges::stable_sort(hosts, std::ranges::greater(),
                           [&](HostIndex host) { return poor[host]; });
  const auto many = static_cast<std::size_t>(
      std::ranges::count_if(hosts, [&](HostIndex host) { return poor[host] > 1; }));
  hosts.resize(std::min({most, hosts.size(), std::max(many, kEnough)}));
  std::ranges::sort(hosts);
}

using Places = std::vector<std::optional<std::size_t>>;

Places places_of(const HeatMap& map, std::size_t hosts) {
  Places places(hosts);
  for (std::size_t at = 0; at < map.hosts.size(); ++at) {
    places[map.hosts[at]] = at;
  }
  return places;
}

HeatCell* cell_of(HeatMap& map, const Places& places, HostIndex from, HostIndex to) {
  return places[from] && places[to] ? &map.cells[*places[from] * map.hosts.size() + *places[to]]
                                    : nullptr;
}

void fill(HeatCell* cell, const WayResult& way, const Figure& share) {
  if (cell != nullptr && throughput_mbps(way)) {
    *cell = {HeatState::Measured, throughput_mbps(way), share};
  }
}

void fail(HeatCell* cell) {
  if (cell != nullptr && cell->state == HeatState::Untested) {
    cell->state = HeatState::Failed;
  }
}

}  // namespace

HeatMap heat_map(const Measured& measured, std::size_t most) {
  const Yardstick yardstick(measured);
  HeatMap map{.hosts = hosts_seen(measured)};
  if (map.hosts.size() > most) {
    map.left_out = map.hosts.size();
    keep_worst(map.hosts, most, poor_ways(measured, yardstick));
    map.left_out -= map.hosts.size();
  }
  map.cells.resize(map.hosts.size() * map.hosts.size());
  const Places places = places_of(map, measured.hosts.size());
  for (std::size_t at = 0; at < map.hosts.size(); ++at) {
    map.cells[at * map.hosts.size() + at].state = HeatState::Own;
  }
  for (const PairResult& pair : measured.pairs) {
    fill(cell_of(map, places, pair.a, pair.b), pair.there,
         yardstick.share(pair.a, pair.b, pair.there));
    fill(cell_of(map, places, pair.b, pair.a), pair.back,
         yardstick.share(pair.b, pair.a, pair.back));
  }
  for (const Trouble& trouble : measured.troubles) {
    fail(cell_of(map, places, trouble.a, trouble.b));
    fail(cell_of(map, places, trouble.b, trouble.a));
  }
  return map;
}

}  // namespace chokepoint::preflight
