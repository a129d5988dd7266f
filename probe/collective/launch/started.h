// Ranks that this process has started, here or on other hosts. They are ended when it goes. One
// thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/control/client.h"
#include "base/sys/clock.h"
#include "probe/collective/launch/rank_service.h"
#include "probe/collective/rendezvous/hub.h"

namespace chokepoint::probe::collective {

class Started {
 public:
  virtual ~Started() = default;
  // Tells the hub of those that have ended, and not well.
  virtual Result<> look(Hub& hub) = 0;
};

// All of them on this host, as child processes. `wanted.count` is all.
Result<std::unique_ptr<Started>> start_here(const RanksWanted& wanted, const sys::Clock& clock,
                                            const std::string& program = "/proc/self/exe");

// `wanted.count` of them on each host, by the `chokepoint serve` there, in the order of the hosts.
// Each is asked for its turn in an order that all clients share, so that two of them never wait for
// each other.
Result<std::unique_ptr<Started>> start_there(const RanksWanted& wanted,
                                             const std::vector<control::ClientOptions>& hosts,
                                             int interrupt, const control::Waiting& waiting);

}  // namespace chokepoint::probe::collective
