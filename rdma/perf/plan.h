// What both sides of a test have agreed on, and the layout of memory and rings that follows from
// it. Values. rdma/session makes the plan of what the user asked for and of what both devices can
// do; the layout is derived from the plan alone, so that both sides compute the same one.
//
//   sources: what is sent, or where a read and an atomic put what they fetched
//   targets: what the peer writes, reads and counts in
//   receives: where what was sent arrives
//
// Without check a queue pair uses as little memory as perftest does: one message, or as many small
// ones as fit into a page. With check each message under way has memory of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rdma/verbs/types.h"

namespace chokepoint::rdma::perf {

using Metric = documents::RdmaMetric;

struct Plan {
  verbs::Operation operation = verbs::Operation::Write;
  Metric metric = Metric::Bandwidth;
  verbs::Transport transport = verbs::Transport::Rc;
  std::uint32_t message_bytes = 65536;
  int queue_pairs = 1;
  int depth = 128;     // requests under way on a queue pair
  int moderation = 1;  // one signaled completion per so many requests
  int post_list = 1;   // requests of one post
  int receive_depth = 512;
  int inline_bytes = 0;
  bool both_ways = false;
  bool events = false;  // sleep for completions instead of polling
  bool check = false;   // what arrives is compared with what was sent
  // Exactly one of these ends the test.
  std::optional<std::uint64_t> iterations = {};  // of every queue pair
  std::optional<std::chrono::nanoseconds> time = {};
  std::uint64_t warm_up = 0;                   // iterations that are not measured
  std::optional<double> rate_bits_per_s = {};  // of all queue pairs together
};

// Memory of one use: for each queue pair `places` messages in a row.
struct Area {
  std::uint64_t offset = 0;
  std::uint64_t stride = 0;
  std::size_t places = 0;

  std::uint64_t at(int queue, std::size_t place) const {
    return offset + (static_cast<std::size_t>(queue) * places + place % places) * stride;
  }
};

struct Layout {
  std::uint32_t message_bytes = 0;
  int queues = 1;
  std::size_t depth = 1;
  std::size_t batch = 1;  // requests of a post; the ring is a multiple of it
  std::size_t group = 1;  // one signaled completion per so many requests; a multiple of the batch
  std::size_t ring = 1;   // requests laid out for a queue pair
  std::size_t receive_ring = 0;    // receives, all of them posted at first; 0: none
  std::uint32_t header_bytes = 0;  // in front of each received message
  Area sources = {};
  Area targets = {};
  Area receives = {};
  std::uint64_t bytes = 0;
};

Layout layout_of(const Plan& plan);

// Whether the peer has to post a receive for it.
bool takes_receive(verbs::Operation operation);

using chokepoint::name_of;

}  // namespace chokepoint::rdma::perf
