// Dumps of the running kernel's addresses and queueing disciplines over rtnetlink. Each call opens
// and closes its own socket; any thread. Always the running kernel: readers that are given a root
// folder go through host::LinkQuery instead.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/net/ethtool.h"
#include "base/sys/error.h"

namespace chokepoint::net {

// By the interface's index.
using AddressesByIndex = std::map<int, std::vector<InterfaceAddress>>;
// Every kind on the interface, the root first, each once: {"mq", "fq_codel"}.
using QdiscsByIndex = std::map<int, std::vector<std::string>>;

Result<AddressesByIndex> dump_addresses();
Result<QdiscsByIndex> dump_qdiscs();

// What a NIC is set to of data centre bridging, asked of the kernel by netlink: which priorities
// are paused by frames of their own, which lossless RoCE rests on. Needs no privilege. Always the
// running kernel: readers that are given a root folder go through host::LinkQuery instead.

// Opens and closes its own socket; any thread. An error where the driver knows nothing of it.
Result<PriorityFlowControl> priority_flow_control(const std::string& interface);

// In the kernel's answer; nothing where it holds none. Pure.
std::optional<PriorityFlowControl> priority_flow_control_in(std::span<const std::byte> answer);

}  // namespace chokepoint::net
