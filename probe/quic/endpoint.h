// One end of a QUIC test: a socket, the connection over it, and the loop that moves packets between
// them and measures. The same at both ends; a server's endpoint waits for the client's connections,
// of which each replaces the one before. Owns both; everything runs on its caller's thread, which
// calls turn() until it has what it wants.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/host/cpu.h"
#include "base/math/histogram.h"
#include "base/sys/root.h"
#include "probe/quic/connection.h"
#include "probe/quic/measurement.h"
#include "probe/quic/parameters.h"
#include "probe/quic/socket.h"
#include "probe/udp/parameters.h"

namespace chokepoint::probe::quic {

std::int64_t clock_ns();

// How often either end of a running test looks at its control connection.
inline constexpr std::chrono::milliseconds kTick{10};

// One UDP flow, whatever the test's direction: QUIC sends both ways.
const udp::Parameters& flow_of_test();

// Packets come far more often than control messages and ticks are worth a look: due once a
// millisecond.
class Ticker {
 public:
  bool is_due() {
    const std::int64_t now = clock_ns();
    if (now < next_ns_) {
      return false;
    }
    next_ns_ = now + kEveryNs;
    return true;
  }

 private:
  static constexpr std::int64_t kEveryNs = 1'000'000;
  std::int64_t next_ns_ = 0;
};

class Endpoint {
 public:
  using OnInterval = std::function<void(const IntervalMeasure& interval)>;

  // `identity` is a server's; a client has none and calls connect().
  Endpoint(Socket socket, const Parameters& parameters, Protocol protocol, sys::Root root,
           const Identity* identity);

  Result<> connect(const Expected& server, const Ticket* ticket);
  // A server's connection for a packet that a Gate has accepted.
  Result<> accept(Packet first, const Opening& opening);
  // A packet of the peer that has arrived at another socket.
  Result<> take_in(Packet packet);
  // Tells the peer that the connection is over, and drops it.
  void disconnect();
  const Socket& socket() const { return socket_; }
  // nullptr before there is one.
  const Connection* connection() const { return connection_.get(); }

  // Reads, writes, and waits until there is more to do or `other` is readable; for `wait` at most.
  Result<> turn(std::chrono::nanoseconds wait, int other);
  // Reads what still arrives, for as long or until `other` is readable; writes nothing.
  void drain(std::chrono::nanoseconds time, int other);

  // Counts from now on.
  void begin(bool sends, bool receives);
  // The peer counts, too: opens this end's streams, and starts the clock where it sends.
  Result<> start();
  // Samples, ends intervals, and ends sending once the time is over.
  void tick(const OnInterval& on_interval);
  // All of its own data is acknowledged, and all of the peer's has arrived.
  bool is_done() const;
  // Measuring ends, and with it the last interval, whatever is left to do.
  void stop();
  Half half() const;
  // What the peer has received, by its acknowledgements: of one that reports nothing else.
  Half acknowledged_half() const;

 private:
  enum class Reason { Idle, Asked, FlowControl, Congestion, Pacing, SendBuffer, Count };
  // When something came first, and last; 0: not yet.
  struct Arrivals {
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    void note(std::int64_t now_ns);
  };
  static Reason reason_of(Wait wait);
  bool is_perf() const { return tuning_.protocol == Protocol::Perf; }

  Result<> take(Packet packet, unsigned ecn, std::int64_t now_ns);
  Result<> read_all();
  Result<> write_all();
  // False: nothing more to write now.
  Result<bool> write_batch();
  void set_allowance(std::int64_t now_ns);
  std::int64_t wait_ns(std::chrono::nanoseconds most) const;
  void wait(std::chrono::nanoseconds most, int other);
  void restart_clock();
  void sample();
  void end_interval(std::int64_t now_ns, const OnInterval& on_interval);
  // The last interval ends, and measuring; nothing where it has already, or never began.
  void end(std::int64_t now_ns, const OnInterval& on_interval);
  SentMeasure sent_measure() const;
  ReceivedMeasure received_measure() const;
  HostMeasure host_measure() const;
  double since_begin_s(std::int64_t ns) const;
  double share_of(Reason reason) const;

  Parameters parameters_;
  sys::Root root_;
  const Identity* identity_;
  Socket socket_;
  std::unique_ptr<Connection> connection_;
  Tuning tuning_;
  Reason reason_ = Reason::Idle;
  bool is_behind_ = false;  // there was more to read or to write than one turn does

  bool sends_ = false;
  bool receives_ = false;
  bool finishing_ = false;
  std::int64_t begun_ns_ = 0;  // 0: not yet
  std::int64_t ended_ns_ = 0;  // of measuring; 0: not yet
  Arrivals data_;
  Arrivals acknowledgements_;
  SocketCounts before_ = {};
  std::array<std::int64_t, static_cast<std::size_t>(Reason::Count)> waited_ns_{};
  std::int64_t cpu_before_ns_ = 0;
  std::int64_t cpu_ns_ = 0;
  std::optional<host::CoreTimes> cores_before_;
  std::optional<host::CoreTimes> cores_after_;
  std::uint64_t max_cwnd_bytes_ = 0;
  std::unique_ptr<math::Histogram> rtt_ns_ = std::make_unique<math::Histogram>();
  std::int64_t interval_began_ns_ = 0;
  std::int64_t interval_ends_ns_ = 0;
  StreamCounts at_interval_ = {};
  std::vector<IntervalMeasure> intervals_;
  std::vector<IntervalMeasure> acknowledged_intervals_;  // of Protocol::Perf
};

}  // namespace chokepoint::probe::quic
