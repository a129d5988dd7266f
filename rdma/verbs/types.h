// RDMA devices, ports, queue pairs and memory as both sides of a test know them. Values, without
// libibverbs' headers; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/documents/rdma.h"

namespace chokepoint::rdma::verbs {

using Transport = documents::RdmaTransport;
using Operation = documents::RdmaOperation;

bool is_atomic(Operation operation);
// Whether the transport supports the operation, by the InfiniBand specification.
bool carries(Transport transport, Operation operation);

// What the peer may do to memory by RDMA. Receives need none of these.
struct Rights {
  bool write = false;
  bool read = false;
  bool atomic = false;
};
Rights needed_for(Operation operation);

using documents::GidType;

// In the order of an IPv6 address, which it is on Ethernet.
struct Gid {
  std::array<std::uint8_t, 16> bytes = {};
  bool operator==(const Gid&) const = default;
};

struct GidEntry {
  int index = 0;
  Gid gid = {};
  GidType type = GidType::InfiniBand;
  unsigned interface_index = 0;  // 0: none
};

enum class PortState { Unknown, Down, Initialising, Armed, Active };

struct Port {
  int number = 1;
  PortState state = PortState::Unknown;
  bool ethernet = false;
  int active_mtu_bytes = 0;
  int max_mtu_bytes = 0;
  std::uint16_t lid = 0;
  std::vector<GidEntry> gids = {};
};

struct DeviceLimits {
  int queue_pairs = 0;
  int depth = 0;            // requests of one queue
  int completions = 0;      // of one completion queue
  int reads_as_target = 0;  // reads and atomics that one queue pair answers at once
  int reads_as_source = 0;
  bool atomics = false;
};

// How the peer addresses a queue pair.
struct QueueAddress {
  std::uint32_t number = 0;        // 24 bits
  std::uint32_t first_packet = 0;  // 24 bits: the first sequence number it sends
};

struct EndpointAddress {
  std::uint16_t lid = 0;
  Gid gid = {};
  std::vector<QueueAddress> queues = {};
};

struct RemoteMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t key = 0;
};

using chokepoint::name_of;

}  // namespace chokepoint::rdma::verbs
