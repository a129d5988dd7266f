// chokepoint rdma devices: this host's RDMA devices, and what is wrong with them. devices.cc has
// the command and reads the listing, devices_page.cc shows it. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/checks/check.h"
#include "base/cli/context.h"
#include "base/host/network.h"
#include "base/host/process.h"
#include "base/host/rdma.h"
#include "rdma/commands/devices_document.h"
#include "rdma/verbs/device.h"

namespace chokepoint::rdma {

// Read once; a value.
struct DeviceListing {
  std::vector<host::RdmaDevice> devices = {};
  host::Network network = {};
  host::Process process = {};
  checks::Checks checks = {};  // those that RDMA depends on
};

// Of all devices, or of the one named `only`. `library`: asked for the active MTU, which is in no
// file; null for a copy of another host. It stays unknown if the device does not answer.
DeviceListing read_listing(const sys::Root& root, const std::string& only = {},
                           verbs::Library* library = nullptr);

// PFC of a port's interface; nullopt if it cannot be read.
std::optional<net::PriorityFlowControl> flow_control_of(const DeviceListing& listing,
                                                        const host::RdmaPort& port);

ShownDevices document_of(const DeviceListing& listing);
// `all`: also the checks that passed.
void print_page(const cli::Context& context, const DeviceListing& listing, bool all);

}  // namespace chokepoint::rdma
