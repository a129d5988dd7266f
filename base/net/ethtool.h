// Asks a NIC's driver, by ioctl, for its settings and counters. Needs no privilege. The socket is
// owned here; one object serves every interface, from one thread at a time. It always speaks to
// the running kernel: readers that are given a root folder go through host::LinkQuery instead.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/net/link_settings.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::net {

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
