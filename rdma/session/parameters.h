// The settings of an RDMA test, from the client's flags or in the client's request. What the user
// left open is nullopt here and decided once both devices are known (negotiate.h). Values and pure
// functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/documents/rdma_flows.h"
#include "base/sys/error.h"
#include "rdma/perf/plan.h"
#include "rdma/session/port_choice.h"
#include "rdma/verbs/types.h"

namespace chokepoint::rdma::session {

// Of a device, an interface or a GID in a message.
inline constexpr std::size_t kMaxNameLength = 63;
inline constexpr int kMaxQueuePairs = 2048;  // whose addresses fit into a message

// Where the memory of one side of a test lies.
struct Memory {
  enum class Kind { Host, Huge, Gpu };
  Kind kind = Kind::Host;
  int gpu = 0;

  bool operator==(const Memory&) const = default;
};

std::string text_of(const Memory& memory);  // "host", "huge", "gpu:1"
Result<Memory> memory_named(std::string_view text);

inline constexpr std::uint32_t kSmallestMessage = 1;
inline constexpr std::uint32_t kLargestMessage = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kAtomicBytes = 8;
using documents::kMaxFlowLabel;

// Requests of a queue pair where the user chooses none; devices that hold fewer get fewer.
inline constexpr int kDefaultDepth = 128;
inline constexpr int kDefaultReceiveDepth = 512;

struct Parameters {
  verbs::Operation operation = verbs::Operation::Write;
  perf::Metric metric = perf::Metric::Bandwidth;
  verbs::Transport transport = verbs::Transport::Rc;
  std::vector<std::uint32_t> sizes = {65536};  // of a message; one round each
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
  std::uint32_t flow_label = 0;  // 0: the card's choice
  int service_level = 0;
  int timeout = 14;
  int retries = 7;
  bool relaxed_ordering = true;
  bool by_cm = false;  // rdma_cm makes the connections
  Memory client_memory = {};
  Memory server_memory = {};
  PortRequest server_port = {};
};

// 2, 4, 8 … 2^23.
std::vector<std::uint32_t> sweep_sizes();

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);

// What can be checked without a device; errors of kind Usage.
Result<> check(const Parameters& parameters);
// Whether the server grants it.
Result<> check(const Parameters& parameters, const control::Limits& limits);

}  // namespace chokepoint::rdma::session
