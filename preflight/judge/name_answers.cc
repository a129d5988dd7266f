#include "preflight/judge/name_answers.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "base/net/address.h"

namespace chokepoint::preflight {
namespace {

bool is_loopback(const std::string& text) {
  const auto address = net::Address::parse(text);
  return address && address->is_loopback();
}

bool shares_one(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  return std::ranges::any_of(
      some, [&](const std::string& one) { return std::ranges::find(others, one) != others.end(); });
}

// All addresses of its interfaces and where its agent was; empty where its facts are not known.
std::vector<std::string> own_addresses(const HostResult& host) {
  std::vector<std::string> own;
  if (!host.facts) {
    return own;
  }
  for (const InterfaceFacts& interface : host.facts->interfaces) {
    own.insert(own.end(), interface.addresses.begin(), interface.addresses.end());
  }
  own.push_back(host.address);
  return own;
}

std::vector<std::string> most_are_told(std::span<const LookedUp> looks) {
  std::map<std::vector<std::string>, std::size_t> counts;
  for (const LookedUp& look : looks) {
    if (look.asker != look.asked && !look.answer->error) {
      std::vector<std::string> sorted = look.answer->addresses;
      std::ranges::sort(sorted);
      ++counts[std::move(sorted)];
    }
  }
  if (counts.empty()) {
    return {};
  }
  return std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
}

Wrong judged(const LookedUp& look, const std::vector<std::string>& own,
             const std::vector<std::string>& most) {
  const std::vector<std::string>& told = look.answer->addresses;
  if (look.answer->error || told.empty()) {
    return Wrong::Unresolved;
  }
  if (is_loopback(told.front())) {
    return Wrong::Loopback;
  }
  if (!own.empty() && !shares_one(told, own)) {
    return Wrong::Elsewhere;
  }
  return look.asker != look.asked && !most.empty() && !shares_one(told, most) ? Wrong::Differs
                                                                              : Wrong::No;
}

}  // namespace

std::vector<LookedUp> looked_up(const ClusterInput& scene) {
  std::vector<bool> is_name(scene.hosts());
  for (HostIndex host = 0; host < scene.hosts(); ++host) {
    is_name[host] = !net::Address::parse(scene.name(host)) && scene.name(host) != "localhost";
  }
  std::vector<LookedUp> looks;
  for (HostIndex asker = 0; asker < scene.hosts(); ++asker) {
    for (const NameAnswer& answer : scene.host(asker).names) {
      if (answer.asked < scene.hosts() && is_name[answer.asked]) {
        looks.push_back({asker, answer.asked, &answer});
      }
    }
  }
  std::ranges::stable_sort(looks, {}, &LookedUp::asked);
  for (std::size_t first = 0; first < looks.size();) {
    std::size_t last = first;
    while (last < looks.size() && looks[last].asked == looks[first].asked) {
      ++last;
    }
    const std::span same(looks.data() + first, last - first);
    const std::vector<std::string> own = own_addresses(scene.host(same[0].asked));
    const std::vector<std::string> most = most_are_told(same);
    for (LookedUp& look : same) {
      look.wrong = judged(look, own, most);
    }
    first = last;
  }
  return looks;
}

}  // namespace chokepoint::preflight
