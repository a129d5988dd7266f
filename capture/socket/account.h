// What the job's connections came to, those that are closed included, and where their senders' time
// went lately. The watcher's thread only.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "capture/socket/belonging.h"
#include "capture/socket/connection.h"
#include "capture/socket/watcher.h"

namespace chokepoint::capture::socket {

class Account {
 public:
  // Peers beyond so many are not told apart any more: they are left out.
  static constexpr std::size_t kMostPeers = 4'096;

  void open(const Peer& peer);
  void close() { --connections_; }
  void judged(Rule rule) { ++judged_.at(static_cast<std::size_t>(rule)); }
  // What rules alone told, in words; empty where they told nothing.
  std::string judgements() const;
  // What the connection came to since it was counted last.
  void count(Connection& connection);
  // Every second the shares are made anew.
  void roll(std::int64_t now_ns);

  // Sums, shares and peers into `figures`; peers only where there are new ones.
  void tell(Figures& figures);

 private:
  static constexpr std::int64_t kWindowNs = 1'000'000'000;

  Shares shares_of_window(std::int64_t passed_ns) const;

  std::int64_t connections_ = 0;
  std::uint64_t connections_ever_ = 0;
  std::array<std::uint64_t, 3> judged_ = {};  // by Rule
  Totals sums_ = {};
  std::set<Peer> peers_;
  bool has_new_peers_ = false;

  Shares shares_ = {};
  std::uint64_t window_ = 1;
  std::int64_t window_start_ns_ = 0;
  Totals in_window_ = {};
  std::uint64_t busiest_us_ = 0;
};

}  // namespace chokepoint::capture::socket
