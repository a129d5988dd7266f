// RoCEv2 on the wire: for each destination queue pair messages, bytes, gaps in the packet sequence,
// retransmissions, NAKs, receiver-not-ready, congestion notifications and marks. A host's responses
// go to the same queue pair as its own requests; they are followed separately. Works without having
// seen the connection being set up. Bounded memory; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "capture/packet/packet.h"

namespace chokepoint::capture::roce {

struct Limits {
  std::size_t queue_pairs = 16'384;
};

// Packets from one host to one queue pair of another.
struct QueuePairFacts {
  packet::Ends ends{};
  std::uint32_t queue_pair = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;          // on the wire
  std::uint64_t payload_bytes = 0;  // of the messages
  std::uint64_t messages = 0;
  std::uint64_t read_requests = 0;
  std::uint64_t atomics = 0;
  std::uint64_t acknowledgements = 0;
  std::uint64_t missing_packets = 0;  // gaps in the PSN, not filled later
  std::uint64_t filled_packets = 0;   // gaps filled later: overtaken, or lost before the tap
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t retransmitted_bytes = 0;
  std::uint64_t duplicates = 0;  // copies of the very same packet
  std::uint64_t restarts = 0;    // the queue pair was reused, with other numbers
  std::uint64_t unknown_packets = 0;
  std::uint32_t mtu = 0;  // the largest payload of a packet; 0: not known
  std::uint64_t sequence_naks = 0;
  std::uint64_t other_naks = 0;
  std::uint64_t receiver_not_ready = 0;
  std::uint64_t congestion_notifications = 0;  // CNP sent to this queue pair
  std::uint64_t congestion_marks = 0;          // ECN "congestion experienced"
};

// What one packet shows about loss.
struct Signs {
  bool is_again = false;         // retransmitted
  bool is_filling = false;       // fills a gap: overtaken, or lost before the tap and retransmitted
  bool reports_missing = false;  // a NAK for a packet that did not come
};

class QueuePairTable;

class Tracker {
 public:
  explicit Tracker(const Limits& limits = {});
  ~Tracker();

  // A packet of kind Roce.
  Signs take(const packet::Packet& packet);
  void visit(const std::function<void(const QueuePairFacts& facts)>& see) const;
  std::uint64_t folded() const;  // queue pairs that were replaced by new ones

 private:
  std::unique_ptr<QueuePairTable> table_;
};

}  // namespace chokepoint::capture::roce
