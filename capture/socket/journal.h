// What becomes of the job's connections: the Journal of each network namespace writes rows into the
// record, addresses and owners into the registry, and sums into the one Account, which the watcher
// shows. The watcher owns all of them; its thread only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/record/samples.h"
#include "base/record/writer.h"
#include "capture/socket/flow_registry.h"
#include "capture/socket/ownership.h"
#include "capture/socket/reading.h"
#include "capture/socket/watcher.h"

namespace chokepoint::capture::socket {

// A connection of the job, or one that may turn out to be. Never moved: others point to it.
struct Connection {
  Name name = {};
  packet::Ends ends = {};
  std::uint64_t cookie = 0;
  std::uint32_t bound_to = 0;
  std::int64_t seen_ns = 0;      // for the first time
  bool was_there_first = false;  // in the first dump of its network namespace

  EntryPointer entry = {};  // null: not known to be the job's
  bool is_turned = false;   // the local end is the flow row's end b

  std::int64_t silent_ns = 0;  // since when the other end acknowledges nothing of what is under way
  std::int64_t resent_before = 0;  // packets, by then

  record::SocketSample last = {};  // the sample before
  bool is_last_written = false;
  std::int64_t changed_ns = 0;
  bool is_queued = false;
  std::int64_t vanished_ns = 0;  // since when the kernel does not know it; 0: it does

  Totals seen = {};          // at the sample before
  Totals counted = {};       // the part that is in the job's sums
  std::uint64_t window = 0;  // the Account's window of window_busy_us
  std::uint64_t window_busy_us = 0;
};

// Sums over the job's connections, those that are closed included, and where their senders' time
// went in the last second.
class Account {
 public:
  // Further peers are left out.
  static constexpr std::size_t kMaxPeers = 4'096;

  void open(const Peer& peer);
  void close(const Connection& connection) {
    --connections_;
    silent_.erase(connection.cookie);
  }
  // Whether the other end still acknowledges data.
  void note_silence(const Connection& connection, const record::SocketSample& row);
  void judged(Rule rule) { ++judged_.at(static_cast<std::size_t>(rule)); }
  // How many connections rules alone assigned to the job, as a sentence; empty if none.
  std::string judgements() const;
  // Adds what the connection did since the last call for it.
  void count(Connection& connection);
  // Computes the shares once a second.
  void roll(std::int64_t now_ns);

  // Writes sums and shares into `figures`, and all peers if there are new ones.
  void report(Figures& figures);

 private:
  static constexpr std::int64_t kWindowNs = 1'000'000'000;

  Shares shares_of_window(std::int64_t passed_ns) const;

  std::int64_t connections_ = 0;
  std::uint64_t connections_ever_ = 0;
  std::array<std::uint64_t, 3> judged_ = {};  // by Rule
  Totals sums_ = {};
  std::map<std::uint64_t, Silent> silent_;  // by cookie
  std::set<Peer> peers_;
  bool has_new_peers_ = false;

  Shares shares_ = {};
  std::uint64_t window_ = 1;
  std::int64_t window_start_ns_ = 0;
  Totals in_window_ = {};
  std::uint64_t busiest_us_ = 0;
};

class Journal {
 public:
  // All arguments outlive it.
  Journal(std::uint64_t network, record::Producer& producer, FlowRegistry& registry,
          Account& account)
      : network_(network), producer_(producer), registry_(registry), account_(account) {}

  // From now on it is the job's. `is_older` than the watching: what it did before does not count.
  void admit(Connection& connection, const Owner& owner, bool is_older);
  void own(Connection& connection, const Owner& owner);

  // Writes a row if the reading differs from the one before. After a time without changes a row of
  // its last moment is written, too, so that the growth is not attributed to the whole time.
  // Returns how many rows it wrote.
  int keep(Connection& connection, const Reading& reading, std::int64_t now_ns);
  // Writes the last row if it is not written yet.
  void write_last(Connection& connection);
  // Counts, but writes no row. True if keep() would find a change.
  bool count(Connection& connection, const Reading& reading);
  // For a connection that is not known to be the job's.
  static void remember(Connection& connection, const Reading& reading, std::int64_t now_ns);

  void close(Connection& connection, std::int64_t now_ns);
  // A connection was the job's by a rule alone, and closed before its first sample.
  void judged(Rule rule) { account_.judged(rule); }

 private:
  // Counts the reading and returns it as a row.
  record::SocketSample take(Connection& connection, const Reading& reading, std::int64_t now_ns);
  void write(const record::SocketSample& row);

  std::uint64_t network_;
  record::Producer& producer_;
  FlowRegistry& registry_;
  Account& account_;
};

}  // namespace chokepoint::capture::socket
