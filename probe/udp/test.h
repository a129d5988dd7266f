// A UDP test over a control connection, at both ends: the client's Test and the server's service. A
// test is requested once and then run as often as needed; the client keeps its turn at the server
// until the end. In each run, after the rendezvous (rendezvous.h):
//
//   client                                           server
//     Begin {run, packet_bytes, rate, time, …} ───────►
//     ◄──────────────────────────────── Begin {run}       its receivers listen; its senders send
//     Data ═══════════════════════════════════════════     either way, or both
//     ◄────────────────────────── Report {packets, …}      what arrived so far, once per interval
//     Stop {run, sent […], now} ◄─────────────────────►    by each end whose senders are done;
//                                                          now: the other shall stop sending, too
//     ◄──────────────────────────────── Note {report}      once all its flows have ended
//
// A Test borrows the client and is used by one thread. The service runs on a session's thread, and
// the flows on threads of their own that end before it returns.
#pragma once

#include <functional>
#include <memory>

#include "base/control/client.h"
#include "base/control/service.h"
#include "probe/udp/parameters.h"
#include "probe/udp/rendezvous.h"
#include "probe/udp/run_threads.h"

namespace chokepoint::probe::udp {

// A run's progress.
struct Live {
  double elapsed_s = 0;
  LiveCounts sent = {};           // by this end
  LiveCounts received = {};       // by this end
  LiveCounts peer_received = {};  // by the server, as of its last Report
};
using Watch = std::function<void(const Live& live)>;

struct RunResult {
  SideReport own = {};
  SideReport peer = {};
  bool interrupted = false;
};

class Test {
 public:
  // `interrupt`: readable once the user wants it to end; every call then ends soon.
  static Result<Test> open(control::Client& client, const Parameters& parameters,
                           const net::SocketOptions& options, int interrupt,
                           const control::Waiting& waiting);

  // The payload of the largest packet that the local interface sends unfragmented, at most
  // Ethernet's.
  std::size_t usual_packet_bytes() const;
  std::optional<ClockOffset> measure_clock() const;
  // If the user interrupts the run, the result is what was measured until then.
  Result<RunResult> run(const RunPlan& plan, const Watch& watch);
  // Ends the test, and with it the turn at the server.
  Result<> close();

 private:
  Test(control::Client& client, Flows flows, int interrupt)
      : client_(&client), flows_(std::move(flows)), interrupt_(interrupt) {}

  Result<> begin(const RunPlan& plan, RunThreads& threads);

  control::Client* client_;
  Flows flows_;
  int interrupt_;
};

std::unique_ptr<control::Service> udp_service();

}  // namespace chokepoint::probe::udp
