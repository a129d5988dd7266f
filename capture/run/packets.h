// The job's packets on whatever interfaces it uses. Begins with all that have an address, so that
// the first handshake is seen, and all that may be a job's; once no new peers have come for a while
// the kernel hands over their packets alone, and interfaces that lead to none of them are let go.
// Interfaces that come back, or are used for the first time, are listened to from then on. One
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/record/writer.h"
#include "base/sys/root.h"
#include "capture/book/flow_book.h"
#include "capture/run/tap_watch.h"
#include "capture/socket/watcher.h"

namespace chokepoint::capture::run {

struct PacketOptions {
  std::vector<std::string> interfaces = {};  // empty: those that the job uses
  sys::Root root = {};
};

struct InterfaceVolume {
  std::string interface = {};
  VolumeCounts counts = {};
};

class Packets {
 public:
  // What is given outlives it.
  Packets(PacketOptions options, book::FlowBook& book, record::Writer& writer,
          TapListeners listeners);

  // Before the job starts. An interface that the user named and that cannot be listened to is an
  // error; else it is a remark.
  Result<> open();
  void begin();
  // Every now and then: where the job's peers are by now, at this monotonic time.
  void follow(const std::vector<socket::Peer>& peers, std::int64_t now_ns);
  void end();

  std::vector<InterfaceVolume> volumes() const;
  std::uint64_t dropped() const;
  bool has_listened() const { return has_listened_; }
  // What could not be seen, and why.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  using Place = std::pair<std::uint64_t, std::string>;  // network, interface

  Result<> add(const Place& place, const std::string& netns, const std::string& filter,
               std::size_t of);
  std::vector<std::string> rivals_of(const std::string& interface) const;
  void remark(const std::string& text);
  void bury(std::int64_t now_ns);
  void listen_where_peers_are(const std::vector<socket::Peer>& peers, std::int64_t now_ns);
  void narrow(bool is_settled);
  void let_go();
  void retire(std::map<Place, std::unique_ptr<TapWatch>>::iterator tap);
  bool is_wanted(const std::string& interface) const;

  PacketOptions options_;
  book::FlowBook& book_;
  record::Writer& writer_;
  TapListeners listeners_;
  std::map<Place, std::unique_ptr<TapWatch>> taps_;
  std::map<Place, std::int64_t> tried_ns_;    // when it could not be listened to
  std::map<std::string, VolumeCounts> gone_;  // of interfaces that are let go
  std::uint64_t dropped_ = 0;                 // there
  std::vector<std::string> remarks_;
  std::set<socket::Peer> peers_;  // all that ever were
  std::int64_t grown_ns_ = 0;     // when they became more
  bool has_listened_ = false;
};

}  // namespace chokepoint::capture::run
