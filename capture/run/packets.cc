#include "capture/run/packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/host/network.h"
#include "base/sys/descriptor.h"
#include "base/sys/root.h"
#include "capture/observer/ends.h"
#include "capture/observer/gloo.h"
#include "capture/observer/observer.h"
#include "capture/observer/recorder.h"
#include "capture/packet/address_text.h"
#include "capture/run/job_flows.h"
#include "capture/source/live.h"
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

bool is_physical(const source::InterfaceFacts& facts) { return facts.speed_mbps.has_value(); }

// The interfaces that a job may use: those that are up and have an address. A connection passes one
// of them, whatever lies below it (bond, VLAN, bridge), so no packet is seen twice. Loopback cannot
// limit a job. Sorted; physical ones are preferred if there are more than kMaxInterfaces.
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

constexpr std::uint64_t kAllRingsBytes = std::uint64_t{32} << 20;  // of all interfaces together
constexpr std::uint64_t kMinRingBytes = std::uint64_t{2} << 20;
constexpr std::uint64_t kMaxRingBytes = std::uint64_t{16} << 20;
// Ranks first meet at one host and connect to each other later.
constexpr std::int64_t kSettledNs = 10'000'000'000;
constexpr std::int64_t kRetryNs = 1'000'000'000;

std::uint64_t ring_of(std::size_t taps) {
  return std::clamp(kAllRingsBytes / std::max<std::size_t>(taps, 1), kMinRingBytes, kMaxRingBytes);
}

// By a process in it: a container's network has no name.
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

// Enough for a Gloo header over IPv6 with options.
constexpr std::uint32_t kSnapshotBytes = 144;
constexpr std::int64_t kMeasureNs = 100'000'000;
// The job needs the memory: only some thousands of flows in full detail.
constexpr flow::Limits kLimits{.flows = 8'192, .detail_bytes = std::size_t{24} << 20};

std::int64_t now_ns() { return sys::SystemClock().monotonic_ns(); }

}  // namespace

struct TapOptions {
  std::string interface = {};
  std::uint64_t network = 0;  // as in the book: 0 for the program's own namespace
  std::string netns = {};     // a path, if it is another namespace
  std::string filter = {};
  std::uint64_t ring_bytes = 0;
  std::vector<packet::Address> own_addresses = {};
  std::vector<std::string> rivals = {};  // see JobFlows
  sys::Root root = {};
};

// The packets of one interface: source, observer and record, on a thread of their own. Interfaces
// come and go; each has its own watch, so that the end of one does not end the others. All public
// functions are called by one thread.
//
//   open() ─▶ begin() ─▶ narrow()… ─▶ end()
//                └─ the interface goes away: is_over()
class TapWatch final : private observer::FlowListener {
 public:
  // The interface is captured from here on; what comes before begin() waits in the ring. The
  // arguments outlive the watch.
  static Result<std::unique_ptr<TapWatch>> open(const TapOptions& options, book::FlowBook& book,
                                                record::Writer& writer,
                                                const TapListeners& listeners) {
    TRY(std::unique_ptr<source::LiveSource> source,
        source::open_live({.interfaces = {options.interface},
                           .snapshot_bytes = kSnapshotBytes,
                           .ring_bytes = options.ring_bytes,
                           .filter = options.filter,
                           .netns = options.netns,
                           .time_scale = source::TimeScale::Monotonic,
                           .root = options.root}));
    std::unique_ptr<TapWatch> watch(new TapWatch(options, book, writer, listeners));
    source::LiveSource* const live = source.get();
    observer::Settings settings{.limits = kLimits,
                                .own_addresses = options.own_addresses,
                                .stop_source = [live] { live->stop(); }};
    settings.on_collective = [watch = watch.get()](const gloo::Collective& collective) {
      const record::Collective row = watch->collectives_.keep(collective);
      if (watch->listeners_.on_collective) {
        watch->listeners_.on_collective(row);
      }
    };
    const auto listener = [watch = watch.get()](std::size_t) -> observer::FlowListener* {
      return watch;
    };
    TRY(auto observer, observer::Observer::make(std::move(source), settings, listener));
    watch->observer_ = std::move(observer);
    watch->source_ = live;
    return watch;
  }

  ~TapWatch() override {
    if (!is_ended_) {
      static_cast<void>(end());
    }
  }

  void begin() { observer_->start(); }

  void narrow(const std::string& filter) {
    if (filter != filter_ && source_->narrow(filter)) {
      filter_ = filter;
    }
  }

  bool is_over() const { return sys::is_readable(observer_->descriptor()); }

  // What was captured before is still analysed and kept. An error if the interface went away.
  Result<> end() {
    is_ended_ = true;
    observer_->stop();
    Result<> ended = observer_->join();
    observer::Analyser& analyser = *observer_->analysers().front();
    volume_.measure(analyser, now_ns());
    recorder_.finish(analyser);
    hand_on(analyser);
    return ended;
  }

  const std::string& interface() const { return options_.interface; }
  std::uint64_t network() const { return options_.network; }
  VolumeCounts volume() const { return volume_.counts(); }

  std::uint64_t dropped() const {
    const observer::Progress progress = observer_->progress().now();
    return progress.dropped_by_kernel + progress.dropped_by_interface;
  }

 private:
  TapWatch(const TapOptions& options, book::FlowBook& book, record::Writer& writer,
           TapListeners listeners)
      : options_(options),
        listeners_(std::move(listeners)),
        rows_(book, JobFlows(book, options.network, options.rivals)),
        volume_(JobFlows(book, options.network, options.rivals), writer, options.interface),
        recorder_(
            writer,
            {.own_addresses = options.own_addresses, .rows = &rows_, .connections = &connections_}),
        collectives_(writer, connections_, 0),
        filter_(options.filter) {}

  void on_drop(observer::Analyser& analyser, const source::Drop& drop) override {
    recorder_.on_drop(analyser, drop);
  }

  void on_fold(observer::Analyser& analyser, std::uint32_t slot,
               const flow::FlowFacts& facts) override {
    volume_.fold(analyser, slot, facts);
    recorder_.on_fold(analyser, slot, facts);
  }

  void on_gloo(observer::Analyser& analyser, std::uint32_t slot,
               std::uint32_t connection) override {
    recorder_.on_gloo(analyser, slot, connection);
  }

  void after_batch(observer::Analyser& analyser) override {
    recorder_.after_batch(analyser);
    if (const std::int64_t now = now_ns(); now - measured_ns_ >= kMeasureNs) {
      measured_ns_ = now;
      volume_.measure(analyser, now);
      hand_on(analyser);
    }
  }

  void hand_on(observer::Analyser& analyser) const {
    if (listeners_.on_traffic && !analyser.traffic_bins().bins().empty()) {
      listeners_.on_traffic(analyser.traffic_bins().bins());
    }
    analyser.traffic_bins().clear();
  }

  TapOptions options_;
  TapListeners listeners_;
  JobRows rows_;
  JobVolume volume_;
  observer::ConnectionFlows connections_;
  observer::Recorder recorder_;
  observer::CollectiveRecorder collectives_;
  source::LiveSource* source_ = nullptr;  // the observer's
  std::unique_ptr<observer::Observer> observer_;
  std::string filter_;
  std::int64_t measured_ns_ = 0;
  bool is_ended_ = false;
};

std::string filter_for(const std::vector<Host>& peers) {
  if (peers.empty() || peers.size() > kMaxFilterHosts) {
    return std::string(kAnyJob);
  }
  std::string hosts;
  for (const Host& peer : peers) {
    hosts += fmt::format("{}host {}", hosts.empty() ? "" : " or ",
                         packet::text_of(peer.address, peer.is_ipv6));
  }
  return fmt::format("{} or (({}) and ({}))", kHandshakes, kAnyJob, hosts);
}

Packets::Packets(PacketOptions options, book::FlowBook& book, record::Writer& writer,
                 TapListeners listeners)
    : options_(std::move(options)),
      book_(book),
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
  TRY(auto tap,
      TapWatch::open({.interface = key.second,
                      .network = key.first,
                      .netns = netns,
                      .filter = filter,
                      .ring_bytes = ring_of(of),
                      .own_addresses = key.first == 0 ? observer::own_addresses(options_.root)
                                                      : std::vector<packet::Address>{},
                      // sysfs shows how interfaces are stacked in this namespace only.
                      .rivals = key.first == 0 ? rivals_of(key.second) : std::vector<std::string>{},
                      .root = options_.root},
                     book_, writer_, listeners_));
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

void Packets::follow(const std::vector<socket::Peer>& peers, std::int64_t now_ns) {
  close_dead(now_ns);
  for (const socket::Peer& peer : peers) {
    if (peers_.insert(peer).second) {
      grown_ns_ = now_ns;
    }
  }
  capture_where_peers_are(peers, now_ns);
  const bool is_settled = !peers_.empty() && now_ns - grown_ns_ >= kSettledNs;
  narrow(is_settled);
  if (is_settled) {
    close_unused();
  }
}

// An interface went down or away: it is tried again later.
void Packets::close_dead(std::int64_t now_ns) {
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
  std::map<std::uint64_t, std::string> filters;
  for (const auto& [key, tap] : taps_) {
    const auto [filter, is_new] = filters.try_emplace(key.first, kAnyJob);
    if (is_new && is_settled) {
      filter->second = filter_for(hosts_of(peers_, key.first));
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
    const VolumeCounts counts = current->second->volume();
    if (!is_used && counts.sent_bytes + counts.received_bytes == 0) {
      close(current);
    }
  }
}

void Packets::close(std::map<TapKey, std::unique_ptr<TapWatch>>::iterator tap) {
  static_cast<void>(tap->second->end());
  gone_[tap->second->interface()] += tap->second->volume();
  dropped_ += tap->second->dropped();
  taps_.erase(tap);
}

bool Packets::is_wanted(const std::string& interface) const {
  return !interface.empty() && interface != "lo" &&
         (options_.interfaces.empty() || std::ranges::count(options_.interfaces, interface) > 0);
}

void Packets::end() {
  while (!taps_.empty()) {
    close(taps_.begin());
  }
}

std::vector<InterfaceVolume> Packets::volumes() const {
  std::map<std::string, VolumeCounts> sums = gone_;
  for (const auto& [key, tap] : taps_) {
    sums[key.second] += tap->volume();
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
