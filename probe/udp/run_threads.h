// The threads of one end in one run, a sender or a receiver for each flow, and the report of what
// they measured. Made, driven and ended by the thread that has the control connection. No thread
// blocks for long, so that they end quickly whatever the network does. Borrows the flows.
//
//   listen ─► (the peer is ready) ─► send ─► sent_all ─► (the peer learns how much was sent)
//   expect (what the peer sent) ─► received_all ─► report
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/control/message.h"
#include "base/math/statistics.h"
#include "base/sys/error.h"
#include "probe/udp/flow_meter.h"
#include "probe/udp/parameters.h"
#include "probe/udp/receiver.h"
#include "probe/udp/rendezvous.h"
#include "probe/udp/sender.h"

namespace chokepoint::probe::udp {

struct SentFlow {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  double duration_s = 0;  // with the last packet's share of the time
  std::uint64_t skipped = 0;
  std::uint64_t dropped_here = 0;
  double blocked_s = 0;  // while the local interface's queue was full
  bool segmented = false;
  std::optional<Burst> burst = {};
  std::string error = {};
};

struct ReceivedFlow {
  SequenceCounts counts = {};
  std::uint64_t bytes = 0;
  std::uint64_t lost = 0;
  std::uint64_t lost_in_queue = 0;  // of the lost: dropped by the receiving socket's queue
  std::uint64_t ignored = 0;        // packets of an earlier run, or of another sender
  std::optional<double> bytes_per_s = {};
  std::optional<double> jitter_ms = {};
  std::vector<FlowInterval> intervals = {};
};

// What one end measured in one run, flow by flow. The server sends its report to the client. What
// an end cannot know is nullopt.
struct SideReport {
  std::vector<SentFlow> sent = {};
  std::vector<ReceivedFlow> received = {};
  math::Distribution delay_ms = {};  // one-way, of all received flows; count 0: not measured
  std::int64_t room_bytes = 0;       // a receiving socket's buffer
};

control::Json body_of(const SideReport& report);
Result<SideReport> side_report_in(const control::Json& body);

// The flows of one direction so far, as this end sees them while they run.
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

  // Fail where a thread cannot be started; those that were end with this object.
  Result<> listen();
  Result<> send();
  // No more is sent; what was sent is still received.
  void stop_sending() { stop_sending_ = true; }
  void stop();

  bool sent_all() const;
  // The packets of each flow that sends, in their order.
  std::vector<std::uint64_t> sent() const;
  // The peer's sent(), for the flows that receive here. False where the number of flows differs.
  bool expect(const std::vector<std::uint64_t>& sent);
  bool received_all() const;

  LiveCounts received_so_far() const;
  LiveCounts sent_so_far() const;

  // Joins the threads: call it once both ends are done.
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
        : inbox(socket), meter(identity, run.interval.count(), run.peer_clock) {}
    Inbox inbox;
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
