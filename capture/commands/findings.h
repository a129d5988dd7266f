// What a capture came to, as far as both the document and the page tell it: sums over all flows,
// and the flows that matter most. Gathered from the analysers once they are done.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/commands/ranking.h"
#include "capture/flow/facts.h"
#include "capture/observer/observer.h"
#include "capture/observer/others.h"
#include "capture/roce/tracker.h"

namespace chokepoint::capture {

// Of the wire: super-frames as the segments that they become.
struct Volume {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t retransmitted_packets = 0;
};

struct Findings {
  std::string source = {};  // "eth0", "a.pcap, b.pcap"
  observer::Progress progress = {};
  Volume volume = {};  // flows, the remainder and what is no flow
  std::size_t flows = 0;
  flow::Remainder remainder = {};
  observer::Others others = {};
  std::vector<RankedFlow> top = {};
  std::uint64_t gloo_messages = 0;
  std::uint64_t gloo_connections = 0;
  std::vector<const observer::CollectiveSum*> collectives = {};  // the observer's
  std::vector<roce::QueuePairFacts> queue_pairs = {};
  std::vector<source::Drop> drops = {};
  std::vector<source::Interface> interfaces = {};
  std::vector<std::string> remarks = {};
  bool is_interrupted = false;

  std::string interface_name(std::uint32_t index) const;
};

Findings gather(const observer::Observer& observer, SortBy by, std::size_t top);

}  // namespace chokepoint::capture
