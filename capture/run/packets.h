// The job's packets on all interfaces that it uses. Capture begins on all interfaces with an
// address, so that the first handshake is seen, with all packets that may be the job's. Once no new
// peers have come for some time, only their packets are captured, and interfaces that lead to none
// of them are closed. Interfaces that return, or are used for the first time, are captured from
// then on. Each is read by a process of its own: see capture/tap/process.h. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/record/writer.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/packet/packet.h"
#include "capture/socket/flow_registry.h"
#include "capture/socket/watcher.h"
#include "capture/tap/process.h"

namespace chokepoint::capture::run {

struct PacketOptions {
  std::vector<std::string> interfaces = {};  // empty: those that the job uses
  sys::Root root = {};
  std::string tap_program = {};  // see tap::TapOptions::program
};

struct InterfaceVolume {
  std::string interface = {};
  tap::VolumeCounts counts = {};
};

class Packets {
 public:
  // The arguments outlive it.
  Packets(PacketOptions options, socket::FlowRegistry& registry, record::Writer& writer,
          tap::TapListeners listeners);
  ~Packets();

  // Before the job starts. If an interface cannot be captured, this is an error if the user named
  // it; else it is a remark.
  Result<> open();
  void begin();
  // To be called regularly, with the job's peers at this monotonic time. Loopback is captured only
  // where ranks of this host may communicate over it.
  void follow(const std::vector<socket::Peer>& peers, std::int64_t now_ns,
              bool has_several_ranks = false);
  void end();

  // Of what leaves and enters this host.
  std::vector<InterfaceVolume> volumes() const;
  std::uint64_t dropped() const;
  bool has_listened() const { return has_listened_; }
  // What could not be seen, and why.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  using TapKey = std::pair<std::uint64_t, std::string>;  // network, interface

  Result<> add(const TapKey& key, const std::string& netns, const std::string& filter,
               std::size_t of);
  std::vector<std::string> rivals_of(const std::string& interface) const;
  void remark(const std::string& text);
  void close_ended(std::int64_t now_ns);
  void capture_where_peers_are(const std::vector<socket::Peer>& peers, std::int64_t now_ns);
  void narrow(bool is_settled);
  void close_unused();
  void close(std::map<TapKey, std::unique_ptr<tap::TapProcess>>::iterator tap);
  bool is_wanted(const std::string& interface) const;

  PacketOptions options_;
  socket::FlowRegistry& registry_;
  record::Writer& writer_;
  tap::TapListeners listeners_;
  std::map<TapKey, std::unique_ptr<tap::TapProcess>> taps_;
  std::map<TapKey, std::int64_t> tried_ns_;                  // the last failure
  std::map<std::string, tap::VolumeCounts> closed_volumes_;  // of interfaces that were closed
  std::uint64_t dropped_ = 0;                                // on these
  std::vector<std::string> remarks_;
  std::set<socket::Peer> peers_;  // all since the start
  bool has_several_ranks_ = false;
  std::int64_t grown_ns_ = 0;  // when the last new peer came
  bool has_listened_ = false;
};

struct Host {
  packet::Address address = {};
  bool is_ipv6 = false;

  auto operator<=>(const Host&) const = default;
};

// A pcap-filter for all packets that may be a job's: while its peers are unknown or too many.
inline constexpr std::string_view kAnyJob = "tcp or udp port 4791";

// A pcap-filter for packets from or to these hosts, and for all handshakes: later connections are
// then seen from their first packet on, which has the window scale.
std::string filter_for(const std::vector<Host>& peers);

}  // namespace chokepoint::capture::run
