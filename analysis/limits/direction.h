// One direction of a connection: what can limit it, and what is known of it over the whole run, by
// which single moments are judged. From the sender's socket, or, if its node left no record, from
// packets at either end. Values; pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/limits/thresholds.h"
#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Which data of it there are; all borrowed from the RunData.
struct DirectionView {
  std::size_t connection = 0;
  record::Direction direction = record::Direction::AToB;
  std::optional<std::size_t> sender = {};  // the nodes of the two ends, if they left a record
  std::optional<std::size_t> receiver = {};
  const FlowData* at_sender = nullptr;
  const FlowData* at_receiver = nullptr;

  // The sender's record, else the receiver's; its times are those of that node's clock.
  const FlowData& best() const { return at_sender != nullptr ? *at_sender : *at_receiver; }
  std::size_t best_node() const { return sender ? *sender : *receiver; }
};

// Its place in what a flow has of each direction.
inline std::size_t side_of(const DirectionView& view) {
  return static_cast<std::size_t>(view.direction);
}

struct DirectionFacts {
  double min_rtt_us = 0;    // unloaded; 0: unknown
  double usual_rtt_us = 0;  // while it had something under way, by the sender's kernel; 0: unknown
  double bytes = 0;         // payload
  double packets = 0;
  double retransmitted = 0;
  double needless = 0;    // of these, what had arrived all the same: packets overtook each other
  bool is_lossy = false;  // more retransmissions of lost packets than any network has
  // More of them than a queue that overflows now and then loses, although the sender slows down by
  // loss: a policer drops what is beyond a rate.
  bool is_policed = false;
  bool is_shrunk_by_loss = false;   // its congestion window fell after losses, not after pauses
  bool has_queue_mostly = false;    // while it had something under way
  bool has_backlog_mostly = false;  // likewise: more waited to be sent
  // A host at its ends has too few processors, so acknowledgements are late now and then; a queue
  // before a link delays them whenever data pass.
  bool is_late_by_host = false;
  // It, or all that passed the sender's interface with it, was nearly as fast most of the time as
  // at its fastest.
  bool is_steady = false;
  bool is_at_one_rate = false;  // all that its receiver gets from its sender: arrivals.h
  std::optional<double> send_buffer_bytes = {};  // as far as the system lets it grow
};

inline constexpr std::int64_t kRecovery = 3;  // congestion_state from here on (TCP_CA_Recovery)
// A receiver acknowledges every second full packet at least: RFC 9293, section 3.8.6.3.
inline constexpr double kDelayedAckPackets = 2;

inline double figure(record::Figure value) { return static_cast<double>(value.value_or(0)); }

// Whether a round trip under load shows a queue.
bool has_queue(double rtt_us, const DirectionFacts& facts);
// Whether the sender has more to send than is under way.
bool has_backlog(const record::SocketSample& sample);

std::vector<DirectionView> directions_of(const RunData& run);
DirectionFacts facts_of(const RunData& run, const DirectionView& view);

// What can hold back one direction of a connection while it has something under way.
enum class Limit {
  LinkFull,          // a queue stands before the slowest link, or the line is at its rate
  Loss,              // lost packets are retransmitted, or hold the congestion window down
  ReceiveWindow,     // the receiver announces no more
  SendBuffer,        // the sender's buffer holds no more
  CongestionWindow,  // still growing, without any loss
  LibraryCredit,     // all that the library hands over at once is on its way
  RoundTrip,         // a small message, which waits for the path's delay alone
};
constexpr std::size_t kLimits = 7;

const char* name_of(Limit limit);

// Nanoseconds by limit.
struct LimitTimes {
  std::array<double, kLimits> ns = {};
  double& operator[](Limit limit) { return ns[static_cast<std::size_t>(limit)]; }
  double operator[](Limit limit) const { return ns[static_cast<std::size_t>(limit)]; }
  double sum() const;
  LimitTimes& operator+=(const LimitTimes& other);
  LimitTimes operator*(double factor) const;
};

// What held the direction back in one span; in the rest of it nothing was under way.
struct LimitedSpan {
  Span span = {};
  LimitTimes times = {};
};

}  // namespace chokepoint::analysis
