// Where a test keeps what in the memory of each side, and how deep its rings are: derived from the
// plan alone, so that both sides come to the same without a word. Values.
//
//   sources: what is sent, or where a read and an atomic put what they brought
//   targets: what the peer writes, reads and counts in
//   receives: where what was sent arrives
//
// Without check a queue pair uses as little memory as perftest does: one message, or as many small
// ones as fit into a page. With check each message under way has memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rdma/perf/plan.h"

namespace chokepoint::rdma::perf {

// Memory of one use: for each queue pair `places` messages, one after the other.
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
  std::size_t batch = 1;         // requests of a post; the ring is a multiple of it
  std::size_t group = 1;         // every how many requests complete aloud; a multiple of the batch
  std::size_t ring = 1;          // requests that are laid out for a queue pair
  std::size_t receive_ring = 0;  // receives, all of them posted at first; 0: none
  std::uint32_t header_bytes = 0;  // in front of what is received
  Area sources = {};
  Area targets = {};
  Area receives = {};
  std::uint64_t bytes = 0;
};

Layout layout_of(const Plan& plan);

// The peer has to post a receive for it.
bool takes_receive(verbs::Operation operation);

}  // namespace chokepoint::rdma::perf
