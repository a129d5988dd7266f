// A UDP test from the client's end: asked for once, then run as often as it takes. Holds its turn
// at the server until it goes. Borrows the client; one thread.
#pragma once

#include <functional>

#include "base/control/client.h"
#include "probe/udp/flow.h"
#include "probe/udp/parameters.h"
#include "probe/udp/run_threads.h"

namespace chokepoint::probe::udp {

// What a run looks like while it goes on.
struct Live {
  double elapsed_s = 0;
  LiveCounts sent = {};           // by this end
  LiveCounts received = {};       // by this end
  LiveCounts peer_received = {};  // by the server, as of its last word
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

  // The largest packet that this host's own interface takes whole, but no larger than Ethernet's.
  std::size_t usual_packet_bytes() const;
  std::optional<ClockOffset> measure_clock() const;
  // A run that the user interrupts ends in what was measured until then.
  Result<RunResult> run(const RunPlan& plan, const Watch& watch);
  // Gives the turn back.
  Result<> close();

 private:
  Test(control::Client& client, Flows flows, int interrupt)
      : client_(&client), flows_(std::move(flows)), interrupt_(interrupt) {}

  Result<> begin(const RunPlan& plan, RunThreads& threads);

  control::Client* client_;
  Flows flows_;
  int interrupt_;
};

}  // namespace chokepoint::probe::udp
