#include "preflight/judge/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "base/math/statistics.h"

namespace chokepoint::preflight {
namespace {

// The rates that peers reach show the rate of a port where so many peers are known, and this share
// of them is no further than this from the median.
constexpr std::size_t kMinPeers = 4;
constexpr double kMinAgreeingShare = 0.75;
constexpr double kMaxFromMedian = 0.3;
// The share of a guessed rate that a path has to reach: two flows on one link get half each.
constexpr double kMinShareOfGuess = 0.7;
constexpr std::size_t kMinShares = 6;  // for a spread
// Rates above this share of the fastest are those of ports that nothing holds back; within this
// share of it they are the same.
constexpr double kFastShare = 0.6;
constexpr double kSameRateShare = 0.1;
// Two tests of one path that differ by less show a limit, not noise.
constexpr double kSameTestShare = 0.15;

void lower(Expectation& to, Basis basis, std::optional<double> mbps, HostIndex whose) {
  if (mbps && *mbps > 0 && (to.basis == Basis::Nothing || *mbps < to.mbps)) {
    to = {basis, *mbps, whose};
  }
}

Expectation least_of(const ClusterInput& input, HostIndex host) {
  Expectation result;
  if (const InterfaceFacts* interface = input.interface(host)) {
    lower(result, Basis::Port, interface->speed_mbps, host);
    lower(result, Basis::Slot, interface->pci_mbps, host);
  }
  lower(result, Basis::Limits, link_rate_of(input.limits(), input.name(host)), host);
  return result;
}

std::optional<double> typical_of(const std::vector<float>& best) {
  std::vector<double> reached;
  std::ranges::copy_if(best, std::back_inserter(reached), [](float rate) { return rate > 0; });
  const std::optional<double> median = math::median(reached);
  if (reached.size() < kMinPeers || !median) {
    return std::nullopt;
  }
  const auto alike = std::ranges::count_if(
      reached, [&](double rate) { return std::abs(rate - *median) <= kMaxFromMedian * *median; });
  const bool agree =
      static_cast<double>(alike) >= kMinAgreeingShare * static_cast<double>(reached.size());
  return agree ? median : std::nullopt;
}

bool is_steady(const PathResult& path) {
  return path.alone_mbps && path.tcp_mbps &&
         std::abs(*path.alone_mbps - *path.tcp_mbps) <= kSameTestShare * *path.tcp_mbps;
}

bool is_idle(const ClusterInput& input, const PathResult& path) {
  return path.sender_cpu_percent && path.receiver_cpu_percent &&
         !is_bound_by_processor(input, path);
}

// Flows that processors hold scatter; those that links hold do not.
bool are_level(const std::vector<double>& rates, double full) {
  const auto fast =
      std::ranges::count_if(rates, [&](double rate) { return rate > kFastShare * full; });
  const auto alike = std::ranges::count_if(
      rates, [&](double rate) { return std::abs(rate - full) <= kSameRateShare * full; });
  return alike > 0 && static_cast<double>(alike) >= kMinAgreeingShare * static_cast<double>(fast);
}

// What repeats alone have shown of a host's one direction.
struct Shown {
  std::uint32_t slow = 0;
  std::uint32_t shared = 0;
  std::uint32_t well = 0;

  bool is_slow_throughout() const { return slow >= 2 && shared + well == 0; }
};

Speed shown_by(const PathResult& path, double least) {
  const Figure rate = rate_of(path);
  if (!rate || least <= 0) {
    return Speed::Unknown;
  }
  if (*rate < least) {
    return Speed::Slow;
  }
  return path.tcp_mbps.value_or(*rate) < least ? Speed::Shared : Speed::Well;
}

void count(Shown& shown, Speed speed) {
  shown.slow += speed == Speed::Slow ? 1 : 0;
  shown.shared += speed == Speed::Shared ? 1 : 0;
  shown.well += speed == Speed::Well ? 1 : 0;
}

class Guess {
 public:
  explicit Guess(std::size_t hosts) : out_(hosts), in_(hosts) {}

  void learn(const DirectedPath& path, Speed speed) {
    count(out_[path.from], speed);
    count(in_[path.to], speed);
    count(all_, speed);
  }

  // Of a way that was slow in its round alone.
  Speed of(const DirectedPath& path) const {
    const std::uint32_t slow = out_[path.from].slow + in_[path.to].slow;
    const std::uint32_t shared = out_[path.from].shared + in_[path.to].shared;
    if (slow + shared > 0) {
      return shared > slow ? Speed::Shared : Speed::Slow;
    }
    return all_.shared > all_.slow ? Speed::Shared : Speed::Slow;
  }

  // Of a path whose rate alone does not show a fault.
  bool is_slow_as_others(const DirectedPath& path) const {
    return out_[path.from].is_slow_throughout() || in_[path.to].is_slow_throughout();
  }

 private:
  std::vector<Shown> out_;
  std::vector<Shown> in_;
  Shown all_ = {};
};

// Something else than the flows had the cores nearly all the time. A network is then slow by that
// alone, though hardly by more than half.
bool are_processors_taken(const ClusterInput& input) {
  constexpr double kMinShareOfTests = 0.5;
  const auto busy = static_cast<float>(input.limits().cpu_percent);
  std::size_t tested = 0;
  std::size_t taken = 0;
  for (const DirectedPath& path : input.paths()) {
    const PathResult& result = *path.result;
    const bool by_flow =
        result.limit == TcpLimit::SenderCpu || result.limit == TcpLimit::ReceiverCpu;
    tested += rate_of(result) ? 1 : 0;
    taken += !by_flow && (result.sender_cpu_percent.value_or(0) >= busy ||
                          result.receiver_cpu_percent.value_or(0) >= busy)
                 ? 1
                 : 0;
  }
  return static_cast<double>(taken) > kMinShareOfTests * static_cast<double>(tested);
}

}  // namespace

Earlier::Earlier(const ClusterInput& input, const Measured* before) : before_(before) {
  then_.resize(input.hosts());
  if (before == nullptr) {
    return;
  }
  std::unordered_map<std::string_view, HostIndex> numbers;
  for (HostIndex host = 0; host < before->hosts.size(); ++host) {
    numbers.emplace(before->hosts[host].name, host);
  }
  for (HostIndex host = 0; host < input.hosts(); ++host) {
    const auto found = numbers.find(input.name(host));
    if (found != numbers.end()) {
      then_[host] = found->second;
    }
  }
  pairs_.reserve(before->pairs.size());
  for (const PairResult& pair : before->pairs) {
    pairs_.emplace_back(pair_key(pair.a, pair.b), &pair);
  }
  std::ranges::sort(pairs_);
}

std::optional<HostIndex> Earlier::host(HostIndex today) const { return then_[today]; }

const PairResult* Earlier::pair(const DirectedPath& path) const {
  if (!then_[path.from] || !then_[path.to]) {
    return nullptr;
  }
  const Key key = pair_key(*then_[path.from], *then_[path.to]);
  const auto found =
      std::ranges::lower_bound(pairs_, key, {}, [](const auto& one) { return one.first; });
  return found != pairs_.end() && found->first == key ? found->second : nullptr;
}

const PathResult* Earlier::path(const DirectedPath& path) const {
  const PairResult* found = pair(path);
  if (found == nullptr) {
    return nullptr;
  }
  return found->a == *then_[path.from] ? &found->there : &found->back;
}

double spread_of(const std::vector<double>& values) {
  return math::kDeviationsPerMedianDeviation * math::median_absolute_deviation(values).value_or(0);
}

Expectations::Expectations(const ClusterInput& input, const Earlier& earlier)
    : input_(input), earlier_(earlier), is_short_of_processors_(is_short_of_processors(input)) {
  hosts_.reserve(input.hosts());
  for (HostIndex host = 0; host < input.hosts(); ++host) {
    hosts_.push_back(least_of(input, host));
  }
  learn_from_peers();
  learn_from_before();
}

// By rates of rounds alone: a repeat with nothing else on must not make the others look slow.
void Expectations::learn_from_peers() {
  for (Peers& peers : peers_) {
    peers.best.resize(input_.hosts());
  }
  for (const DirectedPath& path : input_.paths()) {
    Peers& peers = peers_.at(reach_of(path));
    const float rate = path.result->tcp_mbps.value_or(0);
    for (const HostIndex host : {path.from, path.to}) {
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
  for (const DirectedPath& path : input_.paths()) {
    if (const Figure rate = rate_of(*path.result)) {
      rates.at(reach_of(path)).push_back(*rate);
    }
  }
  for (std::size_t reach = 0; reach < rates.size(); ++reach) {
    Peers& peers = peers_.at(reach);
    peers.is_level = are_level(rates.at(reach), peers.typical.value_or(peers.most));
  }
}

void Expectations::learn_from_before() {
  baseline_share_ = input_.limits().link_share;
  std::vector<double> shares;
  for (const DirectedPath& path : input_.paths()) {
    const Figure now = rate_of(*path.result);
    const Expectation before = by_baseline(path);
    if (now && before.mbps > 0) {
      shares.push_back(*now / before.mbps);
    }
  }
  if (shares.size() >= kMinShares) {
    const double spread = spread_of(shares);
    baseline_share_ =
        std::clamp(1 - kSigmas * spread, std::min(input_.limits().link_few_share, baseline_share_),
                   baseline_share_);
  }
}

Expectation Expectations::of_host(HostIndex host) const { return hosts_[host]; }

Expectation Expectations::by_hardware(const DirectedPath& path) const {
  if (input_.is_wan(path)) {
    return input_.limits().wan_rate_mbps
               ? Expectation{Basis::Limits, *input_.limits().wan_rate_mbps, path.from}
               : Expectation{};
  }
  Expectation result = hosts_[path.from];
  const Expectation& other = hosts_[path.to];
  lower(result, other.basis, other.mbps, path.to);
  return result;
}

Expectation Expectations::by_baseline(const DirectedPath& path) const {
  const PathResult* then = earlier_.path(path);
  const Figure rate = then == nullptr ? Figure() : rate_of(*then);
  return rate && *rate > 0 ? Expectation{Basis::Baseline, *rate, path.from} : Expectation{};
}

Expectation Expectations::by_peers(const DirectedPath& path) const {
  const Peers& peers = peers_.at(reach_of(path));
  if (peers.most <= 0) {
    return {};
  }
  if (!peers.typical || reach_of(path) == kWan) {
    return {Basis::Few, peers.most, path.from};
  }
  const double ends = std::min(peers.best[path.from], peers.best[path.to]);
  return {Basis::Peers, std::max(ends, *peers.typical), path.from};
}

// One end alone does not give a link's rate: the other may be slower and not report it.
Expectation Expectations::of(const DirectedPath& path) const {
  const bool both_known = input_.is_wan(path) || (hosts_[path.from].basis != Basis::Nothing &&
                                                  hosts_[path.to].basis != Basis::Nothing);
  const Expectation hardware = both_known ? by_hardware(path) : Expectation{};
  if (hardware.basis != Basis::Nothing) {
    return hardware;
  }
  const Expectation baseline = by_baseline(path);
  Expectation result = baseline.basis != Basis::Nothing ? baseline : by_peers(path);
  const Expectation one_end = input_.is_wan(path) ? Expectation{} : by_hardware(path);
  if (one_end.basis != Basis::Nothing && one_end.mbps < result.mbps) {
    result = one_end;
  }
  return result;
}

// What was not tested again alone may have met others on its way.
double Expectations::peer_share(const DirectedPath& path) const {
  const Limits& limits = input_.limits();
  if (!path.result->alone_mbps ||
      (is_short_of_processors_ && !peers_.at(reach_of(path)).is_level)) {
    return limits.link_few_share;
  }
  return is_steady(*path.result) && is_idle(input_, *path.result) ? limits.link_steady_share
                                                                  : limits.link_peer_share;
}

double Expectations::few_share(const DirectedPath& path) const {
  const bool level = is_idle(input_, *path.result) || peers_.at(reach_of(path)).is_level;
  return !input_.is_wan(path) && is_steady(*path.result) && level ? input_.limits().link_peer_share
                                                                  : input_.limits().link_few_share;
}

double Expectations::least(const DirectedPath& path, const Expectation& expectation) const {
  const Limits& limits = input_.limits();
  switch (expectation.basis) {
    case Basis::Nothing:
      return 0;
    case Basis::Peers:
      return expectation.mbps * peer_share(path);
    case Basis::Few:
      return expectation.mbps * few_share(path);
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
  const double share = is_guessed(expectation) ? kMinShareOfGuess : input_.limits().link_share;
  return share * expectation.mbps;
}

bool is_guessed(const Expectation& expectation) {
  return expectation.basis == Basis::Peers || expectation.basis == Basis::Few;
}

std::string words_for(const Expectation& expectation, const ClusterInput& input) {
  const std::string& whose = input.name(expectation.whose);
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
      return "that most hosts reach with others; no port reports its rate";
    case Basis::Few:
      return "the best that was reached; no port reports its rate";
  }
  return "";
}

Speeds speeds_of(const ClusterInput& input, const Expectations& expectations) {
  Speeds speeds;
  Guess guess(input.hosts());
  const bool others_compute = are_processors_taken(input);
  for (const DirectedPath& path : input.paths()) {
    speeds.expected.push_back(expectations.of(path));
    double least = expectations.least(path, speeds.expected.back());
    if (others_compute) {
      least = std::min(least, input.limits().link_critical_share * speeds.expected.back().mbps);
    }
    speeds.least.push_back(least);
    speeds.speed.push_back(shown_by(*path.result, speeds.least.back()));
    if (path.result->alone_mbps) {
      guess.learn(path, speeds.speed.back());
    }
  }
  for (std::size_t index = 0; index < input.paths().size(); ++index) {
    const DirectedPath& path = input.paths()[index];
    if (path.result->alone_mbps) {
      continue;
    }
    if (speeds.speed[index] == Speed::Slow) {
      speeds.speed[index] = guess.of(path);
    } else if (speeds.speed[index] == Speed::Well && guess.is_slow_as_others(path) &&
               *path.result->tcp_mbps < expectations.least_in_round(speeds.expected[index])) {
      speeds.speed[index] = Speed::Slow;
    }
  }
  return speeds;
}

}  // namespace chokepoint::preflight
