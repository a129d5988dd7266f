// What an RDMA test is asked to be, as the client's flags and the request say it. What the user
// left open is nothing here and decided once both devices are known (negotiate.h). A value.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/sys/error.h"
#include "rdma/perf/plan.h"
#include "rdma/session/port_wish.h"
#include "rdma/session/words.h"
#include "rdma/verbs/types.h"

namespace chokepoint::rdma::session {

inline constexpr std::uint32_t kSmallestMessage = 1;
inline constexpr std::uint32_t kLargestMessage = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kAtomicBytes = 8;

struct Parameters {
  verbs::Operation operation = verbs::Operation::Write;
  perf::Metric metric = perf::Metric::Bandwidth;
  verbs::Transport transport = verbs::Transport::Rc;
  std::vector<std::uint32_t> sizes = {65536};  // of a message; a round each
  int queue_pairs = 1;
  std::optional<int> depth = {};
  std::optional<int> receive_depth = {};
  std::optional<int> moderation = {};
  int post_list = 1;
  std::optional<int> inline_bytes = {};
  std::optional<int> mtu_bytes = {};
  bool both_ways = false;
  bool events = false;
  bool check = false;
  // Exactly one of them, for every round.
  std::optional<std::uint64_t> iterations = {};
  std::optional<std::chrono::nanoseconds> time = {};
  std::uint64_t warm_up = 0;
  std::optional<double> rate_bits_per_s = {};
  int traffic_class = 0;
  int service_level = 0;
  int timeout = 14;
  int retries = 7;
  bool relaxed_ordering = true;
  bool by_cm = false;  // rdma_cm makes the connections
  Memory client_memory = {};
  Memory server_memory = {};
  PortWish server_port = {};
};

// 2, 4, 8 … 2^23.
std::vector<std::uint32_t> sweep_sizes();

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);

// What can be told without a device: mistakes of kind Usage.
Result<> check(const Parameters& parameters);
// What the server grants.
Result<> check(const Parameters& parameters, const control::Limits& limits);

}  // namespace chokepoint::rdma::session
