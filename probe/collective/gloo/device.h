// Which of this host's interfaces Gloo is to use, chosen as PyTorch chooses: the one that is named
// (GLOO_SOCKET_IFNAME or --interface), else the address that the host's name stands for, else
// loopback, by which no other host can be reached.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/sys/error.h"

namespace chokepoint::probe::collective {

struct GlooDevice {
  std::string interface = {};  // or
  std::string address = {};
};

struct GlooDevices {
  std::vector<GlooDevice> devices;
  // Why it had to be loopback; else empty.
  std::string remark = {};
};

// What the host's name leads to; asked only where nothing is named.
struct NameLookup {
  std::string name;
  std::function<Result<std::vector<net::Address>>()> addresses;
  std::function<bool(const net::Address&)> is_own;
};

// `named`: exact names or addresses, with commas between.
Result<GlooDevices> choose_gloo_devices(const std::string& named, const NameLookup& lookup);
// Of the running host.
NameLookup own_name_lookup();

}  // namespace chokepoint::probe::collective
