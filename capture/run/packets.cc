#include "capture/run/packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/host/network.h"
#include "capture/observer/own_addresses.h"
#include "capture/run/candidates.h"
#include "capture/run/peers_filter.h"

namespace chokepoint::capture::run {
namespace {

constexpr std::uint64_t kRingsBytes = std::uint64_t{32} << 20;  // of all interfaces together
constexpr std::uint64_t kSmallestRing = std::uint64_t{2} << 20;
constexpr std::uint64_t kLargestRing = std::uint64_t{16} << 20;
// Jobs meet at one place first and connect to everybody else later.
constexpr std::int64_t kSettledNs = 10'000'000'000;
constexpr std::int64_t kTryAgainNs = 1'000'000'000;

std::uint64_t ring_of(std::size_t taps) {
  return std::clamp(kRingsBytes / std::max<std::size_t>(taps, 1), kSmallestRing, kLargestRing);
}

void add(VolumeCounts& sum, const VolumeCounts& counts) {
  sum.sent_bytes += counts.sent_bytes;
  sum.received_bytes += counts.received_bytes;
  sum.sent_packets += counts.sent_packets;
  sum.retransmitted_packets += counts.retransmitted_packets;
}

// By the process that is in it: there is no name for a container's network.
std::string path_of(std::uint64_t network, const socket::Peer& peer) {
  return network == 0 ? std::string() : fmt::format("/proc/{}/ns/net", peer.pid);
}

std::vector<Host> hosts_of(const std::set<socket::Peer>& peers, std::uint64_t network) {
  std::set<Host> hosts;
  for (const socket::Peer& peer : peers) {
    if (peer.network == network && peer.interface != "lo") {
      hosts.insert({.address = peer.address, .is_ipv6 = peer.is_ipv6});
    }
  }
  return {hosts.begin(), hosts.end()};
}

}  // namespace

Packets::Packets(PacketOptions options, book::FlowBook& book, record::Writer& writer,
                 TapListeners listeners)
    : options_(std::move(options)),
      book_(book),
      writer_(writer),
      listeners_(std::move(listeners)) {}

Result<> Packets::open() {
  const bool is_chosen = !options_.interfaces.empty();
  const std::vector<std::string> names =
      is_chosen ? options_.interfaces : candidates(options_.root);
  for (const std::string& name : names) {
    const Result<> added = add({0, name}, {}, std::string(kAnyJob), names.size());
    if (!added && is_chosen) {
      return added;
    }
    if (!added && added.error().kind == ErrorKind::Permission) {
      remark("no packets: " + describe(added.error()));
      return {};
    }
    if (!added) {
      remark(describe(added.error()));
    }
  }
  return {};
}

// Those that see the same packets and are listened to, as well.
std::vector<std::string> Packets::rivals_of(const std::string& interface) const {
  std::vector<std::string> rivals = relatives_of(interface, options_.root);
  if (!options_.interfaces.empty()) {
    std::erase_if(rivals, [this](const std::string& name) { return !is_wanted(name); });
  }
  return rivals;
}

Result<> Packets::add(const Place& place, const std::string& netns, const std::string& filter,
                      std::size_t of) {
  auto tap =
      TapWatch::open({.interface = place.second,
                      .network = place.first,
                      .netns = netns,
                      .filter = filter,
                      .ring_bytes = ring_of(of),
                      .own_addresses = place.first == 0 ? observer::own_addresses(options_.root)
                                                        : std::vector<packet::Address>{},
                      .root = options_.root},
                     book_, writer_, listeners_);
  if (!tap) {
    return std::unexpected(tap.error());
  }
  taps_[place] = std::move(*tap);
  has_listened_ = true;
  return {};
}

void Packets::begin() {
  for (const auto& [place, tap] : taps_) {
    tap->begin();
  }
}

void Packets::follow(const std::vector<socket::Peer>& peers, std::int64_t now_ns) {
  bury(now_ns);
  for (const socket::Peer& peer : peers) {
    if (peers_.insert(peer).second) {
      grown_ns_ = now_ns;
    }
  }
  listen_where_peers_are(peers, now_ns);
  const bool is_settled = !peers_.empty() && now_ns - grown_ns_ >= kSettledNs;
  narrow(is_settled);
  if (is_settled) {
    let_go();
  }
}

// An interface that went down or away: another try when it may be back.
void Packets::bury(std::int64_t now_ns) {
  for (auto tap = taps_.begin(); tap != taps_.end();) {
    const auto current = tap++;
    if (current->second->is_over()) {
      tried_ns_[current->first] = now_ns;
      retire(current);
    }
  }
}

void Packets::listen_where_peers_are(const std::vector<socket::Peer>& peers, std::int64_t now_ns) {
  for (const socket::Peer& peer : peers) {
    const Place place{peer.network, peer.interface};
    const auto tried = tried_ns_.find(place);
    const bool is_due = tried == tried_ns_.end() || now_ns - tried->second >= kTryAgainNs;
    if (!is_wanted(peer.interface) || taps_.contains(place) || !is_due) {
      continue;
    }
    const bool is_first = tried == tried_ns_.end();
    tried_ns_[place] = now_ns;
    const Result<> added =
        add(place, path_of(place.first, peer), std::string(kAnyJob), taps_.size() + 1);
    if (added) {
      taps_[place]->begin();
    } else if (is_first) {
      remark("no packets: " + describe(added.error()));
    }
  }
}

// While new peers come, whatever may be the job's is taken.
void Packets::narrow(bool is_settled) {
  std::map<std::uint64_t, std::string> filters;
  for (const auto& [place, tap] : taps_) {
    const auto [filter, is_new] = filters.try_emplace(place.first, kAnyJob);
    if (is_new && is_settled) {
      filter->second = filter_for(hosts_of(peers_, place.first));
    }
    tap->narrow(filter->second);
  }
}

void Packets::let_go() {
  if (!options_.interfaces.empty()) {
    return;
  }
  for (auto tap = taps_.begin(); tap != taps_.end();) {
    const auto current = tap++;
    const bool is_used = std::ranges::any_of(peers_, [&](const socket::Peer& peer) {
      return Place(peer.network, peer.interface) == current->first;
    });
    // What carried something of the job's may do so though its address is another interface's.
    const VolumeCounts counts = current->second->volume();
    if (!is_used && counts.sent_bytes + counts.received_bytes == 0) {
      retire(current);
    }
  }
}

void Packets::retire(std::map<Place, std::unique_ptr<TapWatch>>::iterator tap) {
  static_cast<void>(tap->second->end());
  run::add(gone_[tap->second->interface()], tap->second->volume());
  dropped_ += tap->second->dropped();
  taps_.erase(tap);
}

bool Packets::is_wanted(const std::string& interface) const {
  return !interface.empty() && interface != "lo" &&
         (options_.interfaces.empty() || std::ranges::count(options_.interfaces, interface) > 0);
}

void Packets::end() {
  while (!taps_.empty()) {
    retire(taps_.begin());
  }
}

std::vector<InterfaceVolume> Packets::volumes() const {
  std::map<std::string, VolumeCounts> sums = gone_;
  for (const auto& [place, tap] : taps_) {
    run::add(sums[place.second], tap->volume());
  }
  std::vector<InterfaceVolume> volumes;
  for (const auto& [interface, counts] : sums) {
    if (counts.sent_bytes + counts.received_bytes > 0) {
      volumes.push_back({.interface = interface, .counts = counts});
    }
  }
  return volumes;
}

std::uint64_t Packets::dropped() const {
  std::uint64_t dropped = dropped_;
  for (const auto& [place, tap] : taps_) {
    dropped += tap->dropped();
  }
  return dropped;
}

void Packets::remark(const std::string& text) {
  if (std::ranges::count(remarks_, text) == 0) {
    remarks_.push_back(text);
  }
}

}  // namespace chokepoint::capture::run
