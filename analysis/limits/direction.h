// One direction of a connection: what is known of it over the whole run, by which single moments
// are judged. From the sender's socket, or, where its node left no record, from packets at either
// end.
#pragma once

#include <optional>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Which data of it there are; all borrowed from the RunData.
struct DirectionView {
  std::size_t connection = 0;
  record::Direction direction = record::Direction::AToB;
  std::optional<std::size_t> sender = {};  // the nodes of the two ends, where they left a record
  std::optional<std::size_t> receiver = {};
  const FlowData* at_sender = nullptr;
  const FlowData* at_receiver = nullptr;

  // The record that tells more of it, and whose node's clock its times are.
  const FlowData& best() const { return at_sender != nullptr ? *at_sender : *at_receiver; }
  std::size_t best_node() const { return sender ? *sender : *receiver; }
};

// Its place in what a flow has of each direction.
inline std::size_t side_of(const DirectionView& view) {
  return static_cast<std::size_t>(view.direction);
}

struct DirectionFacts {
  double min_rtt_us = 0;  // unloaded; 0: unknown
  double bytes = 0;       // payload
  double packets = 0;
  double retransmitted = 0;
  bool is_lossy = false;          // more was sent again than happens on any network
  bool has_queue_mostly = false;  // while it had something under way
  bool is_steady = false;         // went nearly as fast most of the time as it ever did
  std::optional<double> send_buffer_bytes = {};  // as far as the system lets it grow
};

constexpr double kBulkBytes = 48 * 1024;  // in flight: no small message any more

inline double figure(record::Figure value) { return static_cast<double>(value.value_or(0)); }

// Whether a round trip under load shows a queue.
bool has_queue(double rtt_us, const DirectionFacts& facts);

std::vector<DirectionView> directions_of(const RunData& run);
DirectionFacts facts_of(const RunData& run, const DirectionView& view);

}  // namespace chokepoint::analysis
