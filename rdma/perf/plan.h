// What both sides of a test have agreed on. A value; session makes it of what the user asked for
// and of what both devices can do.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "rdma/verbs/types.h"

namespace chokepoint::rdma::perf {

enum class Metric { Bandwidth, Latency };

struct Plan {
  verbs::Operation operation = verbs::Operation::Write;
  Metric metric = Metric::Bandwidth;
  verbs::Transport transport = verbs::Transport::Rc;
  std::uint32_t message_bytes = 65536;
  int queue_pairs = 1;
  int depth = 128;     // requests under way on a queue pair
  int moderation = 1;  // every how many requests complete aloud
  int post_list = 1;   // requests of one post
  int receive_depth = 512;
  int inline_bytes = 0;
  bool both_ways = false;
  bool events = false;  // sleep for completions instead of polling
  bool check = false;   // what arrives is held against what was sent
  // Exactly one of these ends the test.
  std::optional<std::uint64_t> iterations = {};  // of every queue pair
  std::optional<std::chrono::nanoseconds> time = {};
  std::uint64_t warm_up = 0;                   // iterations that are not measured
  std::optional<double> rate_bits_per_s = {};  // of all queue pairs together
};

}  // namespace chokepoint::rdma::perf
