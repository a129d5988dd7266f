// What one end of a test saw in one run: what its senders sent, what its receivers received, a flow
// each. The server's goes to the client in a message; what an end cannot know is nothing. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/control/message.h"
#include "base/math/statistics.h"
#include "base/sys/error.h"
#include "probe/udp/flow_meter.h"
#include "probe/udp/sender.h"

namespace chokepoint::probe::udp {

struct SentFlow {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  double duration_s = 0;  // until the last packet's share of time was over
  std::uint64_t skipped = 0;
  std::uint64_t dropped_here = 0;
  double blocked_s = 0;  // the own interface's queue was full
  bool segmented = false;
  std::optional<Burst> burst = {};
  std::string error = {};
};

struct ReceivedFlow {
  SequenceCounts counts = {};
  std::uint64_t bytes = 0;
  std::uint64_t lost = 0;
  std::uint64_t lost_in_queue = 0;  // of the lost: no room in the receiver's own socket
  std::uint64_t ignored = 0;        // packets of an earlier run, or of nobody known
  std::optional<double> bytes_per_s = {};
  std::optional<double> jitter_ms = {};
  std::vector<FlowInterval> intervals = {};
};

struct SideReport {
  std::vector<SentFlow> sent = {};
  std::vector<ReceivedFlow> received = {};
  math::Distribution delay_ms = {};  // one way, of all flows received; count 0: not measured
  std::int64_t room_bytes = 0;       // of a receiving socket, as granted
};

SentFlow sent_flow(const SendOutcome& outcome);
ReceivedFlow received_flow(const FlowMeter& meter, std::uint64_t sent);

control::Json body_of(const SideReport& report);
Result<SideReport> side_report_in(const control::Json& body);

}  // namespace chokepoint::probe::udp
