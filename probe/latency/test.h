// A latency test over a control connection, at both ends. The client's Test opens connections, its
// Prober sends pings over them, and the server's end sends them back, over one TCP
// connection and, where both ends can reach each other by UDP, one UDP flow. The load whose effect
// is measured is a test of its own (load.h).
//
//   client                                           server
//     Request {kind latency, time_ns, udp} ───────────►
//     ◄──────────── Ready, and with udp the rendezvous of probe/udp/rendezvous.h
//     Attach ═════════════════════════════════════════►  the TCP connection
//     Ping ◄══════════════════════════════════════════►  over either, sent back: 64 bytes each
//     Stop {} ────────────────────────────────────────►
//     ◄───────────────────────────────────── Result {}
//
// The Test borrows the client and owns the sockets, which the Prober borrows; each is called from
// one thread. The service runs on a session's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/control/client.h"
#include "base/control/message.h"
#include "base/control/service.h"
#include "base/math/histogram.h"
#include "base/sys/error.h"
#include "probe/udp/rendezvous.h"

namespace chokepoint::probe::latency {

struct Parameters {
  std::chrono::nanoseconds time = std::chrono::seconds(30);  // after which the server gives up
  bool udp = true;                                           // ping over UDP, too
};

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);

class Test {
 public:
  // Without UDP where it does not pass between the two ends; then `udp_problem` has the reason.
  static Result<Test> open(control::Client& client, const Parameters& parameters,
                           const net::SocketOptions& options, int interrupt,
                           const control::Waiting& waiting);

  int tcp() const { return tcp_.get(); }
  int udp() const { return flows_ ? flows_->flows.front().fd.get() : -1; }
  std::uint64_t id() const { return flows_ ? flows_->test : 0; }
  const std::optional<Error>& udp_problem() const { return udp_problem_; }

  Result<> close();

 private:
  Test(control::Client& client, sys::Descriptor tcp, std::optional<udp::Flows> flows,
       std::optional<Error> udp_problem)
      : client_(&client),
        tcp_(std::move(tcp)),
        flows_(std::move(flows)),
        udp_problem_(std::move(udp_problem)) {}

  control::Client* client_;
  sys::Descriptor tcp_;
  std::optional<udp::Flows> flows_;
  std::optional<Error> udp_problem_;
};

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

// What becomes of a ping sent now; End: there are no more.
enum class Pinging { Discard, Count, End };
using Counting = std::function<Pinging()>;

// Sends pings at regular times over TCP and UDP and records the round trips of those that come
// back. A ping does not wait for the answer to the one before it, so a path that stops for a second
// delays all pings of that second, not only one.
class Prober {
 public:
  Prober(const ProbeSockets& sockets, std::chrono::nanoseconds gap)
      : sockets_(sockets), gap_(gap) {}

  // `number` separates the pings of this phase from late ones of another. Ends early once
  // `counting` or `interrupt` says so, and fails when the TCP connection does.
  Result<std::unique_ptr<Phase>> run(std::uint16_t number, std::chrono::nanoseconds time,
                                     int interrupt, const Counting& counting);

 private:
  ProbeSockets sockets_;
  std::chrono::nanoseconds gap_;
  // The beginning of a ping that arrived in pieces over TCP.
  std::vector<std::byte> pending_;
};

std::unique_ptr<control::Service> latency_service();

}  // namespace chokepoint::probe::latency
