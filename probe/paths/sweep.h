// The client's end of a sweep: a UDP socket for each flow, each with its own source port, and one
// thread that sends Pings from all of them at an even rate and receives the Pongs. In each round
// every flow sends one packet, in an order that is drawn anew: a burst of losses hits flows alike,
// and no rhythm of the path picks one of them.
//
// Owns the sockets and borrows the client; one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/control/client.h"
#include "base/net/address.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/paths/exchange.h"

namespace chokepoint::probe::paths {

// Of one Ping and its Pong. The clocks of both ends differ by the same in all of them.
struct RoundTrip {
  std::uint32_t round = 0;
  std::int64_t there_ns = 0;  // arrival by the peer's clock less departure by this one's
  std::int64_t back_ns = 0;
};

struct FlowRecord {
  std::uint16_t source_port = 0;
  std::uint64_t sent = 0;
  std::uint64_t received_by_peer = 0;
  std::uint64_t answered = 0;         // by the peer
  std::vector<RoundTrip> trips = {};  // of the Pongs that arrived, each once
};

struct SweepRecord {
  std::vector<FlowRecord> flows = {};
  std::int64_t rounds = 0;             // that were begun
  std::uint64_t dropped = 0;           // by this host's sockets, because their buffers were full
  std::uint64_t peer_dropped = 0;      // by the peer's
  std::chrono::nanoseconds time = {};  // of the sending
  bool interrupted = false;
};

// Bytes of a Ping or Pong on the wire, with the headers of UDP, IP and Ethernet (without FCS).
int wire_bytes(net::Family family);
// How long so many packets take at this rate.
std::chrono::nanoseconds duration(const Parameters& parameters, net::Family family);

class Sweep {
 public:
  // `first_port`: of the sources; ports that are in use are passed over. 0: any.
  // Timeout: no flow got an answer.
  static Result<Sweep> open(control::Client& client, const Parameters& parameters,
                            std::uint16_t first_port, const std::string& interface, int interrupt,
                            const control::Waiting& waiting);

  // Ends early once `interrupt` is readable. `progress` gets the packets that were sent.
  Result<> run(int interrupt, const std::function<void(std::uint64_t sent)>& progress);
  // Ends the test. Once.
  Result<SweepRecord> close();

  std::size_t flows() const { return sockets_.size(); }
  int socket(std::size_t flow) const { return sockets_[flow].get(); }
  std::uint64_t test() const { return ready_.test; }
  std::uint16_t peer_port() const { return ready_.udp_port; }

 private:
  Sweep(control::Client& client, const Parameters& parameters, const ServerReady& ready)
      : client_(&client), parameters_(parameters), ready_(ready) {}
  Result<> bind_sockets(std::uint16_t first_port, const std::string& interface);
  Result<bool> is_answered(int interrupt);
  Error unanswered();
  void ping(std::size_t flow, std::uint32_t round);
  void take_pongs(std::size_t flow);
  Result<> receive_until(std::int64_t until_ns, int interrupt);
  Result<> await_late_pongs(int interrupt);
  std::uint64_t missing_pongs() const;

  control::Client* client_;
  Parameters parameters_;
  ServerReady ready_;
  sys::SystemClock clock_;
  std::vector<sys::Descriptor> sockets_;
  sys::Descriptor epoll_;                // of the sockets
  std::vector<std::vector<bool>> seen_;  // of each flow, the rounds whose Pong arrived
  SweepRecord record_;
};

}  // namespace chokepoint::probe::paths
