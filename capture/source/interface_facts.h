// What /sys/class/net tells of a host's interfaces, as far as a capture has to know it. Values;
// reads through the root it is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/root.h"

namespace chokepoint::capture::source {

enum class InterfaceKind { Other, Bridge, Tunnel };

struct InterfaceFacts {
  std::string name = {};
  InterfaceKind kind = InterfaceKind::Other;
  bool up = false;
  std::uint32_t mtu = 0;  // 0: not known
  std::optional<std::int64_t> speed_mbps = {};
  std::int64_t index = 0;
  std::int64_t link_index = 0;              // of a veth: its other end; else often its own
  std::vector<std::string> stands_on = {};  // a bond on its slaves, a VLAN on its device
};

// Sorted by name.
std::vector<InterfaceFacts> read_interfaces(const sys::Root& root);

}  // namespace chokepoint::capture::source
