// Sends pings at even times over TCP and UDP and takes the round trips of those that come back. The
// next ping does not wait for the last one's answer: a path that stops for a second is seen by all
// the pings of that second, not by one. One thread; borrows the sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/math/histogram.h"
#include "base/sys/error.h"

namespace chokepoint::probe::latency {

// Round trips in nanoseconds, over one protocol.
struct RoundTrips {
  math::Histogram histogram = {};
  std::uint64_t sent = 0;
  std::uint64_t answered() const { return histogram.count(); }
};

struct Phase {
  RoundTrips tcp = {};
  RoundTrips udp = {};
  bool interrupted = false;
};

struct ProbeSockets {
  int tcp = -1;
  int udp = -1;  // -1: none
  std::uint64_t test = 0;
};

// Whether a ping that is sent now shall count.
using Counting = std::function<bool()>;

class Prober {
 public:
  Prober(const ProbeSockets& sockets, std::chrono::nanoseconds gap)
      : sockets_(sockets), gap_(gap) {}

  // `number` tells the pings of this phase from late ones of another. Ends early once `interrupt`
  // is readable, and fails when the TCP connection does.
  Result<std::unique_ptr<Phase>> run(std::uint16_t number, std::chrono::nanoseconds time,
                                     int interrupt, const Counting& counting);

 private:
  ProbeSockets sockets_;
  std::chrono::nanoseconds gap_;
  // TCP is a stream: the beginning of a ping that came in pieces.
  std::vector<std::byte> pending_;
};

}  // namespace chokepoint::probe::latency
