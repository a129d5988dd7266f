// The few bits of a PCI function's configuration space that sysfs does not spell out. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace chokepoint::host {

// The payload limit in force (Device Control, Max_Payload_Size), found through the capability list.
// Nothing where the function has no PCI Express capability or the space is cut short, which is what
// an unprivileged reader gets: its first 64 bytes.
std::optional<int> max_payload_bytes(std::string_view config);

}  // namespace chokepoint::host
