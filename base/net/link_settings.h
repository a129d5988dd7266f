// What an interface is set to and has counted, as ethtool and rtnetlink tell it. Nothing stands for
// what the driver does not say. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"

namespace chokepoint::net {

struct DriverInfo {
  std::string driver;
  std::string version;
  std::string firmware;
  std::string bus;  // 0000:3b:00.0
};

struct LinkModes {
  std::optional<std::int64_t> speed_mbps = {};            // in force
  std::optional<std::int64_t> fastest_mbps = {};          // what the port can do
  std::optional<std::int64_t> partner_fastest_mbps = {};  // what the other end offers
  std::optional<std::string> duplex = {};                 // full, half
  std::optional<bool> autonegotiation = {};
};

struct Rings {
  std::optional<std::int64_t> rx = {};
  std::optional<std::int64_t> tx = {};
  std::optional<std::int64_t> rx_max = {};
  std::optional<std::int64_t> tx_max = {};
};

struct Channels {
  std::optional<std::int64_t> combined = {};
  std::optional<std::int64_t> combined_max = {};
  std::optional<std::int64_t> rx = {};
  std::optional<std::int64_t> rx_max = {};
  std::optional<std::int64_t> tx = {};
  std::optional<std::int64_t> tx_max = {};
};

struct Coalescing {
  std::optional<bool> adaptive_rx = {};
  std::optional<bool> adaptive_tx = {};
  std::optional<std::int64_t> rx_usecs = {};
  std::optional<std::int64_t> tx_usecs = {};
  std::optional<std::int64_t> rx_frames = {};
  std::optional<std::int64_t> tx_frames = {};
};

struct Pause {
  std::optional<bool> autonegotiation = {};
  std::optional<bool> rx = {};
  std::optional<bool> tx = {};
};

// PFC, which pauses one class of traffic and not the others.
struct PriorityFlowControl {
  std::vector<int> enabled = {};  // of the priorities 0 to 7
};

struct Feature {
  std::string name;  // the kernel's: "rx-gro", "tx-tcp-segmentation"
  bool active = false;
  bool fixed = false;  // cannot be changed
};

struct Statistic {
  std::string name;
  std::int64_t value = 0;
};

struct InterfaceAddress {
  Address address;
  int prefix = 0;
};

}  // namespace chokepoint::net
