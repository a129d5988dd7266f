// What a NIC is set to of data centre bridging, asked of the kernel by netlink: which priorities
// are paused by frames of their own, which lossless RoCE rests on. Needs no privilege. Always the
// running kernel: readers that are given a root folder go through host::LinkQuery instead.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/net/link_settings.h"
#include "base/sys/error.h"

namespace chokepoint::net {

// Opens and closes its own socket; any thread. An error where the driver knows nothing of it.
Result<PriorityFlowControl> priority_flow_control(const std::string& interface);

// In the kernel's answer; nothing where it holds none. Pure.
std::optional<PriorityFlowControl> priority_flow_control_in(std::span<const std::byte> answer);

}  // namespace chokepoint::net
