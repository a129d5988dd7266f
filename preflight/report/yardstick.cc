#include "preflight/report/yardstick.h"

#include <algorithm>

namespace chokepoint::preflight {
namespace {

std::optional<double> lesser(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) {
    return a ? a : b;
  }
  return std::min(*a, *b);
}

std::optional<double> greater(std::optional<double> a, const Figure& b) {
  return b ? std::max(a.value_or(0), static_cast<double>(*b)) : a;
}

}  // namespace

std::optional<double> link_mbps(const HostResult& host) {
  if (!host.facts) {
    return std::nullopt;
  }
  for (const InterfaceFacts& each : host.facts->interfaces) {
    if (std::ranges::find(each.addresses, host.address) != each.addresses.end()) {
      const std::optional<double> speed = lesser(each.speed_mbps, each.pci_mbps);
      return speed && *speed > 0 ? speed : std::nullopt;
    }
  }
  return std::nullopt;
}

Figure throughput_mbps(const WayResult& way) {
  return way.alone_mbps ? way.alone_mbps : way.tcp_mbps;
}

Yardstick::Yardstick(const Measured& measured) {
  for (const HostResult& host : measured.hosts) {
    links_.push_back(link_mbps(host));
    by_links_ = by_links_ || links_.back().has_value();
  }
  for (const PairResult& pair : measured.pairs) {
    fastest_ = greater(greater(fastest_, throughput_mbps(pair.there)), throughput_mbps(pair.back));
  }
}

std::optional<double> Yardstick::mbps(HostIndex from, HostIndex to) const {
  const std::optional<double> link = lesser(links_.at(from), links_.at(to));
  const bool both_known = links_.at(from) && links_.at(to);
  return both_known ? link : lesser(link, fastest_);
}

Figure Yardstick::share(HostIndex from, HostIndex to, const WayResult& way) const {
  const Figure reached = throughput_mbps(way);
  const std::optional<double> most = mbps(from, to);
  if (!reached || !most || *most <= 0) {
    return std::nullopt;
  }
  return static_cast<float>(*reached / *most);
}

}  // namespace chokepoint::preflight
