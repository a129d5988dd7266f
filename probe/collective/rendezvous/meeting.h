// The hub on the network: a server (probe/serve) with a session for each rank that is admitted. It
// listens on the first free port of a few, since a launcher may itself hold the one that it gave to
// the ranks. Meeting owns the server's thread; the hub outlives it.
//
//   rank (Member)                                       hub (RankSession)
//     Request {kind rank, job, rank, ranks, host} ──────►
//     ◄──────────── Ready {}  once all have joined, or Failed
//     Report {key, value} ──────────────────────────────►  set
//     Note {key, take, wait_ms} ────────────────────────►  get, or take
//     ◄────────────────────────────── Note {value}         or Failed: not in time
//     Failed {error} ───────────────────────────────────►  passed on to all others
//     ◄───────────────────────────────── Failed {error}    at any time: another rank has failed
//     Bye {} ───────────────────────────────────────────►
//
// Values are bytes in hexadecimal digits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/control/service.h"
#include "base/sys/clock.h"
#include "probe/collective/rendezvous/hub.h"
#include "probe/serve/server.h"

namespace chokepoint::probe::collective {

// How many ports are tried, by the meeting and by the ranks that look for it.
inline constexpr int kPorts = 16;

// To send the last message to a rank that may be gone, and to receive it.
inline constexpr std::chrono::seconds kLastMessageTime{1};

struct MeetingOptions {
  control::Identity own = {};
  std::optional<control::Secret> key = {};
  bool loopback = false;         // for ranks of this host only
  std::uint16_t first_port = 0;  // 0: any
};

class Meeting {
 public:
  static Result<std::unique_ptr<Meeting>> open(const MeetingOptions& options, Hub& hub,
                                               const sys::Clock& clock);
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  // Finishes the hub, and waits until every session has ended.
  ~Meeting();

  std::uint16_t port() const { return port_; }

 private:
  Meeting(const MeetingOptions& options, Hub& hub, const sys::Clock& clock);

  Hub& hub_;
  control::Services services_;
  probe::serve::Server server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

inline constexpr std::string_view kRankKind = "rank";

control::Json body_of(const JoiningRank& rank_to_join);
// The bytes of a Report's or a Note's "value".
Result<std::string> value_in(const control::Json& body);

}  // namespace chokepoint::probe::collective
