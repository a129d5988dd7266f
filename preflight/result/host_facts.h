// What an agent tells of its own host: what the judgement holds measurements against. The agent
// writes it, the coordinator reads it and believes none of it blindly. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/output.h"
#include "base/sys/error.h"

namespace chokepoint::preflight {

// More are not told, and not taken.
inline constexpr std::size_t kMostInterfaces = 1024;
inline constexpr std::size_t kMostAddresses = 256;  // of one interface
inline constexpr std::size_t kMostRdmaPorts = 1024;

struct InterfaceFacts {
  std::string name = {};
  std::vector<std::string> addresses = {};  // without prefix lengths
  std::vector<std::string> networks = {};   // "10.0.0.0/24", one for each address
  std::optional<std::int64_t> mtu = {};
  std::optional<double> speed_mbps =
      {};  // of one flow over the link; nothing where a driver makes it up
  std::optional<double> pci_mbps = {};  // what the narrowest hop of its slot carries
  bool is_port = false;                 // real hardware, or a function of it
  bool is_up = false;

  bool operator==(const InterfaceFacts&) const = default;
};

struct RdmaPortFacts {
  std::string device = {};
  int port = 1;
  std::string interface = {};  // its network interface; empty where there is none
  std::optional<double> speed_mbps = {};
  bool is_active = false;

  bool operator==(const RdmaPortFacts&) const = default;
};

struct HostFacts {
  std::string host = {};  // as it calls itself
  std::vector<InterfaceFacts> interfaces = {};
  std::vector<RdmaPortFacts> rdma = {};
  std::optional<std::int64_t> receive_buffer_bytes = {};  // the largest that TCP gives by itself
  std::optional<std::int64_t> send_buffer_bytes = {};
  std::string congestion_control = {};
  std::optional<std::int64_t> cpus = {};
  std::optional<std::int64_t> gpus = {};
  // Its time of day less its monotonic clock, to compare hosts whose monotonic clocks were
  // compared.
  std::optional<double> wall_less_monotonic_ms = {};
  bool has_gloo = false;  // 'probe collective --backend gloo' would work

  bool operator==(const HostFacts&) const = default;
};

cli::Json json_of(const HostFacts& facts);
// Malformed where a type is wrong or a list is longer than any host's.
Result<HostFacts> host_facts_in(const cli::Json& json);

}  // namespace chokepoint::preflight
