// The data of an iperf3 test at one end, apart from the talk about it: the handshakes are handed
// one and need not know what moves. Owns its sockets and threads. Called from the thread that runs
// the test, about every kTick.
//
//   begin ─ tick … ─► sent() ─► stop_sending ─ tick … ─► received_bytes() rests ─► end ─► results
//
#pragma once

#include <chrono>
#include <cstdint>

#include "base/sys/error.h"
#include "probe/iperf3/results.h"

namespace chokepoint::probe::iperf3 {

inline constexpr std::chrono::milliseconds kTick{20};
// What an iperf3 server gives a client beyond the test's time to say that it is over.
inline constexpr std::chrono::seconds kServerWaits{40};
inline constexpr std::chrono::hours kUntilTheAmountIsOver{24};

class Traffic {
 public:
  virtual ~Traffic() = default;

  virtual Result<> begin() = 0;
  virtual void tick() = 0;
  // Everything that this end had to send has left it.
  virtual bool sent() const = 0;
  // Every stream has been closed by the peer, where the protocol has closes.
  virtual bool closed() const = 0;
  virtual std::uint64_t received_bytes() const = 0;
  virtual void stop_sending() = 0;
  // Nothing moves any more afterwards; the results stand.
  virtual void end() = 0;
  virtual EndResults results() const = 0;
};

}  // namespace chokepoint::probe::iperf3
