#include "preflight/judge/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/math/statistics.h"
#include "preflight/judge/chance.h"

namespace chokepoint::preflight {
namespace {

constexpr std::size_t kEnoughPeers = 4;
constexpr double kAgreeing = 0.75;     // of the hosts
constexpr double kAlike = 0.3;         // from the median
constexpr double kGuessedShare = 0.7;  // two flows on one link get half each
constexpr std::size_t kEnoughShares = 6;
constexpr double kFast = 0.6;
constexpr double kLevel = 0.1;
constexpr double kSame = 0.15;  // two tests of one way that are this near show a limit, not noise

void lower(Expectation& to, Basis basis, std::optional<double> mbps, HostIndex whose) {
  if (mbps && *mbps > 0 && (to.basis == Basis::Nothing || *mbps < to.mbps)) {
    to = {basis, *mbps, whose};
  }
}

Expectation least_of(const ClusterInput& scene, HostIndex host) {
  Expectation result;
  if (const InterfaceFacts* interface = scene.interface(host)) {
    lower(result, Basis::Port, interface->speed_mbps, host);
    lower(result, Basis::Slot, interface->pci_mbps, host);
  }
  lower(result, Basis::Limits, link_rate_of(scene.limits(), scene.name(host)), host);
  return result;
}

std::optional<double> typical_of(const std::vector<float>& best) {
  std::vector<double> reached;
  std::ranges::copy_if(best, std::back_inserter(reached), [](float rate) { return rate > 0; });
  const std::optional<double> median = math::median(reached);
  if (reached.size() < kEnoughPeers || !median) {
    return std::nullopt;
  }
  const auto alike = std::ranges::count_if(
      reached, [&](double rate) { return std::abs(rate - *median) <= kAlike * *median; });
  const bool agree = static_cast<double>(alike) >= kAgreeing * static_cast<double>(reached.size());
  return agree ? median : std::nullopt;
}

bool is_steady(const WayResult& way) {
  return way.alone_mbps && way.tcp_mbps &&
         std::abs(*way.alone_mbps - *way.tcp_mbps) <= kSame * *way.tcp_mbps;
}

bool is_idle(const ClusterInput& scene, const WayResult& way) {
  return way.sender_cpu_percent && way.receiver_cpu_percent && !is_bound_by_processor(scene, way);
}

// Flows that processors hold scatter; those that links hold do not.
bool are_level(const std::vector<double>& rates, double full) {
  const auto fast = std::ranges::count_if(rates, [&](double rate) { return rate > kFast * full; });
  const auto alike = std::ranges::count_if(
      rates, [&](double rate) { return std::abs(rate - full) <= kLevel * full; });
  return alike > 0 && static_cast<double>(alike) >= kAgreeing * static_cast<double>(fast);
}

}  // namespace

Expectations::Expectations(const ClusterInput& scene, const Earlier& earlier)
    : scene_(scene), earlier_(earlier), is_short_of_processors_(is_short_of_processors(scene)) {
  hosts_.reserve(scene.hosts());
  for (HostIndex host = 0; host < scene.hosts(); ++host) {
    hosts_.push_back(least_of(scene, host));
  }
  learn_from_peers();
  learn_from_before();
}

// By rates of rounds alone: a repeat with nothing else on must not make the others look slow.
void Expectations::learn_from_peers() {
  for (Peers& peers : peers_) {
    peers.best.resize(scene_.hosts());
  }
  for (const Way& way : scene_.ways()) {
    Peers& peers = peers_.at(reach_of(way));
    const float rate = way.result->tcp_mbps.value_or(0);
    for (const HostIndex host : {way.from, way.to}) {
      peers.best[host] = std::max(peers.best[host], rate);
    }
    peers.most = std::max<double>(peers.most, rate);
  }
  for (Peers& peers : peers_) {
    peers.typical = typical_of(peers.best);
    peers.hosts = static_cast<std::size_t>(
        std::ranges::count_if(peers.best, [](float rate) { return rate > 0; }));
  }
  std::array<std::vector<double>, 2> rates;
  for (const Way& way : scene_.ways()) {
    if (const Figure rate = rate_of(*way.result)) {
      rates.at(reach_of(way)).push_back(*rate);
    }
  }
  for (std::size_t reach = 0; reach < rates.size(); ++reach) {
    Peers& peers = peers_.at(reach);
    peers.is_level = are_level(rates.at(reach), peers.typical.value_or(peers.most));
  }
}

void Expectations::learn_from_before() {
  baseline_share_ = scene_.limits().link_share;
  std::vector<double> shares;
  for (const Way& way : scene_.ways()) {
    const Figure now = rate_of(*way.result);
    const Expectation before = by_baseline(way);
    if (now && before.mbps > 0) {
      shares.push_back(*now / before.mbps);
    }
  }
  if (shares.size() >= kEnoughShares) {
    const double spread = spread_of(shares);
    baseline_share_ =
        std::clamp(1 - kSigmas * spread, std::min(scene_.limits().link_few_share, baseline_share_),
                   baseline_share_);
  }
}

Expectation Expectations::of_host(HostIndex host) const { return hosts_[host]; }

Expectation Expectations::by_hardware(const Way& way) const {
  if (scene_.is_wan(way)) {
    return scene_.limits().wan_rate_mbps
               ? Expectation{Basis::Limits, *scene_.limits().wan_rate_mbps, way.from}
               : Expectation{};
  }
  Expectation result = hosts_[way.from];
  const Expectation& other = hosts_[way.to];
  lower(result, other.basis, other.mbps, way.to);
  return result;
}

Expectation Expectations::by_baseline(const Way& way) const {
  const WayResult* then = earlier_.way(way);
  const Figure rate = then == nullptr ? Figure() : rate_of(*then);
  return rate && *rate > 0 ? Expectation{Basis::Baseline, *rate, way.from} : Expectation{};
}

Expectation Expectations::by_peers(const Way& way) const {
  const Peers& peers = peers_.at(reach_of(way));
  if (peers.most <= 0) {
    return {};
  }
  if (!peers.typical || reach_of(way) == kWan) {
    return {Basis::Few, peers.most, way.from};
  }
  const double ends = std::min(peers.best[way.from], peers.best[way.to]);
  return {Basis::Peers, std::max(ends, *peers.typical), way.from};
}

// One end alone says little of a link: the other may be slower and not know it.
Expectation Expectations::of(const Way& way) const {
  const bool both_known = scene_.is_wan(way) || (hosts_[way.from].basis != Basis::Nothing &&
                                                 hosts_[way.to].basis != Basis::Nothing);
  const Expectation hardware = both_known ? by_hardware(way) : Expectation{};
  if (hardware.basis != Basis::Nothing) {
    return hardware;
  }
  const Expectation baseline = by_baseline(way);
  Expectation result = baseline.basis != Basis::Nothing ? baseline : by_peers(way);
  const Expectation one_end = scene_.is_wan(way) ? Expectation{} : by_hardware(way);
  if (one_end.basis != Basis::Nothing && one_end.mbps < result.mbps) {
    result = one_end;
  }
  return result;
}

// What was not tested again alone may have met others on its way.
double Expectations::peer_share(const Way& way) const {
  const Limits& limits = scene_.limits();
  if (!way.result->alone_mbps || (is_short_of_processors_ && !peers_.at(reach_of(way)).is_level)) {
    return limits.link_few_share;
  }
  return is_steady(*way.result) && is_idle(scene_, *way.result) ? limits.link_steady_share
                                                                : limits.link_peer_share;
}

double Expectations::few_share(const Way& way) const {
  const bool level = is_idle(scene_, *way.result) || peers_.at(reach_of(way)).is_level;
  return !scene_.is_wan(way) && is_steady(*way.result) && level ? scene_.limits().link_peer_share
                                                                : scene_.limits().link_few_share;
}

double Expectations::least(const Way& way, const Expectation& expectation) const {
  const Limits& limits = scene_.limits();
  switch (expectation.basis) {
    case Basis::Nothing:
      return 0;
    case Basis::Peers:
      return expectation.mbps * peer_share(way);
    case Basis::Few:
      return expectation.mbps * few_share(way);
    case Basis::Port:
    case Basis::Slot:
    case Basis::Limits:
      break;
    case Basis::Baseline:
      return expectation.mbps * baseline_share_;
  }
  return expectation.mbps * limits.link_share;
}

double Expectations::least_in_round(const Expectation& expectation) const {
  const double share = is_guessed(expectation) ? kGuessedShare : scene_.limits().link_share;
  return share * expectation.mbps;
}

bool is_guessed(const Expectation& expectation) {
  return expectation.basis == Basis::Peers || expectation.basis == Basis::Few;
}

std::string words_for(const Expectation& expectation, const ClusterInput& scene) {
  const std::string& whose = scene.name(expectation.whose);
  switch (expectation.basis) {
    case Basis::Nothing:
      return "";
    case Basis::Port:
      return fmt::format("of {}'s port", whose);
    case Basis::Slot:
      return fmt::format("of {}'s PCIe slot", whose);
    case Basis::Limits:
      return "by the limits";
    case Basis::Baseline:
      return "the last time";
    case Basis::Peers:
      return "that most hosts reach with others; no port tells its rate";
    case Basis::Few:
      return "the best that was reached; no port tells its rate";
  }
  return "";
}

}  // namespace chokepoint::preflight
