// The hub on the network: a door for strangers, and a session for each rank that was let in, as
// `chokepoint serve` has them (probe/serve). Listens on the first free port of a few, since a
// launcher may hold the one it told the ranks. Owns its thread; the hub outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/control/session.h"
#include "base/sys/clock.h"
#include "probe/collective/rendezvous/hub.h"
#include "probe/serve/server.h"

namespace chokepoint::probe::collective {

// How many ports after the first are tried, by those who meet and by those who look for them.
inline constexpr int kPorts = 16;

struct MeetingOptions {
  control::Identity own = {};
  std::optional<control::Secret> key = {};
  bool loopback = false;         // for ranks of this host alone
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

}  // namespace chokepoint::probe::collective
