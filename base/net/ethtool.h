// Asks a NIC's driver, by ioctl, for its settings and counters. Needs no privilege. The socket is
// owned here; one object serves every interface, from one thread at a time. It always asks
// the running kernel: readers that are given a root folder go through host::LinkQuery instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::net {

// What an interface is set to and has counted, as ethtool and rtnetlink report it. Nothing stands
// for what the driver does not say. Values.

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

class Ethtool {
 public:
  static Result<Ethtool> open();

  Result<DriverInfo> driver(const std::string& interface) const;
  Result<LinkModes> modes(const std::string& interface) const;
  Result<Rings> rings(const std::string& interface) const;
  Result<Channels> channels(const std::string& interface) const;
  Result<Coalescing> coalescing(const std::string& interface) const;
  Result<Pause> pause(const std::string& interface) const;
  Result<std::vector<Feature>> features(const std::string& interface) const;

  // Names do not change while an interface lives, so a sampler asks for them once and for the
  // values again and again; both are in the driver's order.
  Result<std::vector<std::string>> statistic_names(const std::string& interface) const;
  Result<std::vector<std::int64_t>> statistic_values(const std::string& interface,
                                                     std::size_t count) const;

 private:
  explicit Ethtool(sys::Descriptor socket) : socket_(std::move(socket)) {}

  Result<> ask(const std::string& interface, void* request) const;
  Result<std::uint32_t> set_size(const std::string& interface, std::uint32_t set) const;
  Result<std::vector<std::string>> strings(const std::string& interface, std::uint32_t set) const;

  sys::Descriptor socket_;
};

Result<std::vector<Statistic>> statistics(const Ethtool& ethtool, const std::string& interface);

// The speed that a link mode's name begins with: 100000 of "100000baseCR4/Full".
std::int64_t speed_of_mode(const std::string& name);

}  // namespace chokepoint::net
