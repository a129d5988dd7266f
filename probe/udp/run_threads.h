// The threads of one end in one run: a sender or a receiver for each flow. Made, driven and ended
// by the thread that has the control connection; none of them ever blocks for long, so that ending
// is quick whatever the network does. Borrows the flows.
//
//   listen ─► (the peer says it is ready) ─► send ─► sent_all ─► the peer is told how much
//   expect (the peer tells how much it sent) ─► done ─► report
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "probe/udp/flow.h"
#include "probe/udp/parameters.h"
#include "probe/udp/receiver.h"
#include "probe/udp/sender.h"
#include "probe/udp/side_report.h"

namespace chokepoint::probe::udp {

// What the flows of one direction have come to, as this end can see it while they run.
struct LiveCounts {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t missing = 0;
};

class RunThreads {
 public:
  RunThreads(const Flows& flows, const RunPlan& plan);
  RunThreads(const RunThreads&) = delete;
  RunThreads& operator=(const RunThreads&) = delete;
  ~RunThreads();

  void listen();
  void send();
  // No more is sent; what was sent is still waited for.
  void stop_sending() { stop_sending_ = true; }
  void stop();

  bool sent_all() const;
  // A number for each flow that sends, in their order.
  std::vector<std::uint64_t> sent() const;
  // The peer's numbers, for the flows that receive here. False where they are not as many.
  bool expect(const std::vector<std::uint64_t>& sent);
  bool received_all() const;

  LiveCounts received_so_far() const;
  LiveCounts sent_so_far() const;

  // Once all is done; joins.
  SideReport report();

 private:
  struct Sending {
    int fd = -1;
    SendPlan plan = {};
    SendProgress progress = {};
    SendOutcome outcome = {};
    std::atomic<bool> done = false;
    std::thread thread = {};
  };
  struct Receiving {
    Receiving(int socket, const FlowIdentity& identity, const RunPlan& run)
        : fd(socket), meter(identity, run.interval.count(), run.peer_clock) {}
    int fd;
    FlowMeter meter;
    ReceiveEnd end = {};
    ReceiveProgress progress = {};
    std::atomic<bool> done = false;
    std::thread thread = {};
  };

  void join();
  math::Distribution delays() const;

  std::int64_t room_bytes_;
  std::size_t packet_bytes_;
  std::atomic<bool> stop_sending_ = false;
  std::vector<std::unique_ptr<Sending>> sending_;
  std::vector<std::unique_ptr<Receiving>> receiving_;
};

}  // namespace chokepoint::probe::udp
