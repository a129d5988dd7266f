// A collective or a message of one rank, put together of what the plugin told of it. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl {

// A rank's place in a communicator.
struct Membership {
  std::uint64_t hash = 0;
  std::int64_t rank = 0;
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
};

// Times by this host's clock; what is not known is nothing.
struct Operation {
  std::uint64_t id = 0;
  std::uint16_t communicator = 0;  // as the process numbers them
  Function function = Function::Unknown;
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> peer = {};
  std::int64_t channels = 0;  // 0: not told
  Algorithm algorithm = Algorithm::Unknown;
  Protocol protocol = Protocol::Unknown;
  std::optional<std::int64_t> enqueued_ns = {};

  int proxies = 0;
  std::optional<std::int64_t> proxy_begin_ns = {};
  std::optional<std::int64_t> proxy_end_ns = {};
  std::optional<std::int64_t> sent_data_ns = {};      // the GPU's first, of any channel
  std::optional<std::int64_t> received_data_ns = {};  // the network's first, of the last channel
  std::uint64_t channels_sent = 0;                    // a bit each, of the first 64
  std::uint64_t channels_received = 0;
  std::uint64_t steps = 0;
  std::uint64_t gpu_ns = 0;
  std::uint64_t network_ns = 0;
  std::uint64_t peer_ns = 0;
  std::uint64_t flush_ns = 0;

  int kernels = 0;
  std::optional<std::int64_t> kernel_begin_ns = {};  // by the GPU's clock
  std::optional<std::int64_t> kernel_end_ns = {};

  bool is_named = false;        // its own record has come, not only parts of it
  std::int64_t touched_ns = 0;  // when the last of it was read
};

inline bool is_message(const Operation& operation) {
  return operation.function == Function::Send || operation.function == Function::Receive;
}
inline bool has_parts(const Operation& operation) {
  return operation.proxies > 0 || operation.kernels > 0;
}

}  // namespace chokepoint::capture::nccl
