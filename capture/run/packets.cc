#include "capture/run/packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/host/network.h"
#include "base/sys/root.h"
#include "capture/observer/ends.h"
#include "capture/packet/address_text.h"
#include "capture/source/network_interfaces.h"

namespace chokepoint::capture::run {
namespace {

// A host with many containers has an interface for each, and none of them leads to other hosts.
constexpr std::size_t kMaxInterfaces = 8;

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

constexpr std::string_view kLoopback = "lo";

bool is_physical(const source::InterfaceFacts& facts) { return facts.speed_mbps.has_value(); }

// The interfaces that a job may use: those that are up and have an address. A connection passes one
// of them, whatever lies below it (bond, VLAN, bridge), so no packet is seen twice. Loopback cannot
// limit a job, but ranks of one host may communicate over it: see follow(). Sorted; physical ones
// are preferred if there are more than kMaxInterfaces.
std::vector<std::string> candidate_interfaces(const sys::Root& root) {
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
  chosen.resize(std::min(chosen.size(), kMaxInterfaces));
  std::vector<std::string> names;
  for (const source::InterfaceFacts& facts : chosen) {
    names.push_back(facts.name);
  }
  std::ranges::sort(names);
  return names;
}

// All interfaces below and above this one, sorted.
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

// A kernel filter has at most 4096 instructions, and a packet may pass all of them.
constexpr std::size_t kMaxFilterHosts = 64;
// Of all connections: they may become the job's. pcap-filter cannot test TCP flags over IPv6, hence
// the byte offsets.
constexpr std::string_view kHandshakes =
    "tcp[tcpflags] & tcp-syn != 0 or (ip6[6] == 6 and ip6[53] & 2 != 0)";
// What a server is asked first: by then its connection is not yet known to be the job's. Over IPv4:
// pcap-filter finds the payload of no other.
constexpr std::array<std::string_view, 6> kFirstWords{"GET ", "PUT ", "POST",
                                                      "HEAD", "PRI ", "SSH-"};
constexpr std::string_view kFirstWord = "tcp[((tcp[12] & 0xf0) >> 2):4]";
constexpr std::string_view kTlsHello = "tcp[((tcp[12] & 0xf0) >> 2):2] = 0x1603";

constexpr std::uint64_t kAllRingsBytes = std::uint64_t{32} << 20;  // of all interfaces together
constexpr std::uint64_t kMinRingBytes = std::uint64_t{2} << 20;
constexpr std::uint64_t kMaxRingBytes = std::uint64_t{16} << 20;
// Ranks first meet at one host and connect to each other later.
constexpr std::int64_t kPeersSettledNs = 10'000'000'000;
constexpr std::int64_t kRetryNs = 1'000'000'000;

std::uint64_t ring_of(std::size_t taps) {
  return std::clamp(kAllRingsBytes / std::max<std::size_t>(taps, 1), kMinRingBytes, kMaxRingBytes);
}

// By a process in it: a container's network has no name.
std::string path_of(std::uint64_t network, const socket::Peer& peer) {
  return network == 0 ? std::string() : fmt::format("/proc/{}/ns/net", peer.pid);
}

// The job's peers on loopback, or on all other interfaces of a network.
std::vector<Host> hosts_of(const std::set<socket::Peer>& peers, std::uint64_t network,
                           bool is_loopback) {
  std::set<Host> hosts;
  for (const socket::Peer& peer : peers) {
    if (peer.network == network && (peer.interface == kLoopback) == is_loopback) {
      hosts.insert({.address = peer.address, .is_ipv6 = peer.is_ipv6});
    }
  }
  return {hosts.begin(), hosts.end()};
}

std::string greetings() {
  std::string all(kTlsHello);
  for (const std::string_view word : kFirstWords) {
    std::uint32_t number = 0;
    for (const char letter : word) {
      number = number << 8U | static_cast<unsigned char>(letter);
    }
    all += fmt::format(" or {} = {:#x}", kFirstWord, number);
  }
  return all;
}

}  // namespace

std::string filter_for(const std::vector<Host>& peers) {
  if (peers.empty() || peers.size() > kMaxFilterHosts) {
    return std::string(kAnyJob);
  }
  std::string hosts;
  for (const Host& peer : peers) {
    hosts += fmt::format("{}host {}", hosts.empty() ? "" : " or ",
                         packet::text_of(peer.address, peer.is_ipv6));
  }
  return fmt::format("{} or {} or (({}) and ({}))", kHandshakes, greetings(), kAnyJob, hosts);
}

Packets::Packets(PacketOptions options, socket::FlowRegistry& registry, record::Writer& writer,
                 tap::TapListeners listeners)
    : options_(std::move(options)),
      registry_(registry),
      writer_(writer),
      listeners_(std::move(listeners)) {}

Result<> Packets::open() {
  const bool is_chosen = !options_.interfaces.empty();
  const std::vector<std::string> names =
      is_chosen ? options_.interfaces : candidate_interfaces(options_.root);
  Result<> done;
  for (const std::string& name : names) {
    const Result<> added = add({0, name}, {}, std::string(kAnyJob), names.size());
    if (!added && is_chosen) {
      done = done ? added : done;
      continue;
    }
    if (!added && added.error().kind == ErrorKind::Permission) {
      remark("no packets: " + describe(added.error()));
      return {};
    }
    if (!added) {
      remark(describe(added.error()));
    }
  }
  return done;
}

// Captured interfaces that see the same packets.
std::vector<std::string> Packets::rivals_of(const std::string& interface) const {
  std::vector<std::string> rivals = relatives_of(interface, options_.root);
  if (!options_.interfaces.empty()) {
    std::erase_if(rivals, [this](const std::string& name) { return !is_wanted(name); });
  }
  return rivals;
}

Result<> Packets::add(const TapKey& key, const std::string& netns, const std::string& filter,
                      std::size_t of) {
  TRY(auto tap, tap::TapProcess::open(
                    {.program = options_.tap_program,
                     .interface = key.second,
                     .network = key.first,
                     .netns = netns,
                     .filter = filter,
                     .ring_bytes = ring_of(of),
                     .own_addresses = key.first == 0 ? observer::own_addresses(options_.root)
                                                     : std::vector<packet::Address>{},
                     // sysfs shows how interfaces are stacked in this namespace only.
                     .rivals = key.first == 0 ? rivals_of(key.second) : std::vector<std::string>{},
                     .root = options_.root},
                    registry_, writer_, listeners_));
  taps_[key] = std::move(tap);
  has_listened_ = true;
  return {};
}

Packets::~Packets() = default;

void Packets::begin() {
  for (const auto& [key, tap] : taps_) {
    tap->begin();
  }
}

void Packets::follow(const std::vector<socket::Peer>& peers, std::int64_t now_ns,
                     bool has_several_ranks) {
  has_several_ranks_ = has_several_ranks_ || has_several_ranks;
  close_ended(now_ns);
  for (const socket::Peer& peer : peers) {
    if (peers_.insert(peer).second) {
      grown_ns_ = now_ns;
    }
  }
  capture_where_peers_are(peers, now_ns);
  const bool is_settled = !peers_.empty() && now_ns - grown_ns_ >= kPeersSettledNs;
  narrow(is_settled);
  if (is_settled) {
    close_unused();
  }
}

// An interface went down or away: it is tried again later.
void Packets::close_ended(std::int64_t now_ns) {
  for (auto tap = taps_.begin(); tap != taps_.end();) {
    const auto current = tap++;
    if (current->second->is_over()) {
      tried_ns_[current->first] = now_ns;
      close(current);
    }
  }
}

void Packets::capture_where_peers_are(const std::vector<socket::Peer>& peers, std::int64_t now_ns) {
  for (const socket::Peer& peer : peers) {
    const TapKey key{peer.network, peer.interface};
    const auto tried = tried_ns_.find(key);
    const bool is_due = tried == tried_ns_.end() || now_ns - tried->second >= kRetryNs;
    if (!is_wanted(peer.interface) || taps_.contains(key) || !is_due) {
      continue;
    }
    const bool is_first = tried == tried_ns_.end();
    tried_ns_[key] = now_ns;
    const Result<> added =
        add(key, path_of(key.first, peer), std::string(kAnyJob), taps_.size() + 1);
    if (added) {
      taps_[key]->begin();
    } else if (is_first) {
      remark("no packets: " + describe(added.error()));
    }
  }
}

// While new peers come, all packets that may be the job's are captured.
void Packets::narrow(bool is_settled) {
  std::map<std::pair<std::uint64_t, bool>, std::string> filters;
  for (const auto& [key, tap] : taps_) {
    const bool is_loopback = key.second == kLoopback;
    const auto [filter, is_new] = filters.try_emplace({key.first, is_loopback}, kAnyJob);
    if (is_new && is_settled) {
      filter->second = filter_for(hosts_of(peers_, key.first, is_loopback));
    }
    tap->narrow(filter->second);
  }
}

void Packets::close_unused() {
  if (!options_.interfaces.empty()) {
    return;
  }
  for (auto tap = taps_.begin(); tap != taps_.end();) {
    const auto current = tap++;
    const bool is_used = std::ranges::any_of(peers_, [&](const socket::Peer& peer) {
      return TapKey(peer.network, peer.interface) == current->first;
    });
    // An interface that carried the job's packets may do so again although its address is no
    // peer's.
    const tap::VolumeCounts counts = current->second->volume();
    if (!is_used && counts.sent_bytes + counts.received_bytes == 0) {
      close(current);
    }
  }
}

void Packets::close(std::map<TapKey, std::unique_ptr<tap::TapProcess>>::iterator tap) {
  const Result<> ended = tap->second->end();
  // That an interface went away is the host's business; that its reader did is ours.
  if (!ended && ended.error().kind != ErrorKind::Unreachable) {
    remark("packets are missing: " + describe(ended.error()));
  }
  closed_volumes_[tap->second->interface()] += tap->second->volume();
  dropped_ += tap->second->dropped();
  taps_.erase(tap);
}

bool Packets::is_wanted(const std::string& interface) const {
  return !interface.empty() && (interface != kLoopback || has_several_ranks_) &&
         (options_.interfaces.empty() || std::ranges::count(options_.interfaces, interface) > 0);
}

void Packets::end() {
  while (!taps_.empty()) {
    close(taps_.begin());
  }
}

std::vector<InterfaceVolume> Packets::volumes() const {
  std::map<std::string, tap::VolumeCounts> sums = closed_volumes_;
  for (const auto& [key, tap] : taps_) {
    sums[key.second] += tap->volume();
  }
  std::vector<InterfaceVolume> volumes;
  sums.erase(std::string(kLoopback));
  for (const auto& [interface, counts] : sums) {
    if (counts.sent_bytes + counts.received_bytes > 0) {
      volumes.push_back({.interface = interface, .counts = counts});
    }
  }
  return volumes;
}

std::uint64_t Packets::dropped() const {
  std::uint64_t dropped = dropped_;
  for (const auto& [key, tap] : taps_) {
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
