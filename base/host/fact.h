// One thing known about this host and where it was read, flat, so that the run record can keep it
// and a report can lead back to it. A value.
#pragma once

#include <string>
#include <vector>

namespace chokepoint::host {

struct Fact {
  std::string category;  // "nic", "pci", "cpu", "sysctl"
  std::string subject;   // "eth0", "0000:3b:00.0"; empty for the host itself
  std::string key;       // "mtu"
  std::string value;     // "9000"
  std::string source;    // "/sys/class/net/eth0/mtu", "ethtool"
};

using Facts = std::vector<Fact>;

}  // namespace chokepoint::host
