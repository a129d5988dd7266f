#include "capture/run/candidates.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/host/network.h"
#include "capture/source/interface_facts.h"

namespace chokepoint::capture::run {
namespace {

// A host of many containers has an interface for each, and none of them leads out.
constexpr std::size_t kMostInterfaces = 8;

using Below = std::map<std::string, std::vector<std::string>>;

void add_all_below(const std::string& interface, const Below& below, std::set<std::string>& all) {
  const auto found = below.find(interface);
  for (const std::string& lower :
       found == below.end() ? std::vector<std::string>{} : found->second) {
    if (all.insert(lower).second) {
      add_all_below(lower, below, all);
    }
  }
}

bool is_physical(const source::InterfaceFacts& facts) { return facts.speed_mbps.has_value(); }

}  // namespace

std::vector<std::string> candidates(const sys::Root& root) {
  std::set<std::string> addressed;
  for (const auto& each :
       host::read_addresses(root).addresses.value_or(std::vector<host::InterfaceAddress>{})) {
    if (host::is_routable(each.address)) {
      addressed.insert(each.interface);
    }
  }
  std::vector<source::InterfaceFacts> chosen;
  for (source::InterfaceFacts& facts : source::read_interfaces(root)) {
    if (facts.up && addressed.contains(facts.name)) {
      chosen.push_back(std::move(facts));
    }
  }
  std::ranges::stable_partition(chosen, is_physical);
  chosen.resize(std::min(chosen.size(), kMostInterfaces));
  std::vector<std::string> names;
  for (const source::InterfaceFacts& facts : chosen) {
    names.push_back(facts.name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> relatives_of(const std::string& interface, const sys::Root& root) {
  Below below;
  Below above;
  for (const source::InterfaceFacts& facts : source::read_interfaces(root)) {
    below[facts.name] = facts.stands_on;
    for (const std::string& lower : facts.stands_on) {
      above[lower].push_back(facts.name);
    }
  }
  std::set<std::string> all;
  add_all_below(interface, below, all);
  add_all_below(interface, above, all);
  all.erase(interface);
  return {all.begin(), all.end()};
}

}  // namespace chokepoint::capture::run
