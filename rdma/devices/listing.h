// The RDMA devices of this host and what is wrong with them. Read once; a value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/checks/check.h"
#include "base/cli/context.h"
#include "base/cli/output.h"
#include "base/host/network.h"
#include "base/host/process.h"
#include "base/host/rdma.h"
#include "rdma/verbs/device.h"

namespace chokepoint::rdma::devices {

struct Listing {
  std::vector<host::RdmaDevice> devices = {};
  host::Network network = {};
  host::Process process = {};
  checks::Checks checks = {};  // those that RDMA depends on
};

// Of all devices, or of that one. `library`: asked for the MTU in force, which stands in no file;
// null for a copy of another host. A device that does not answer leaves it unknown.
Listing read_listing(const sys::Root& root, const std::string& only = {},
                     verbs::Library* library = nullptr);

// What PFC pauses on a port's interface; nothing where it cannot be read.
std::optional<net::PriorityFlowControl> flow_control_of(const Listing& listing,
                                                        const host::RdmaPort& port);

// chokepoint.rdma-devices/1
cli::Json document_of(const cli::Context& context, const Listing& listing);
// With `all` every check, and what passed.
void print_page(const cli::Context& context, const Listing& listing, bool all);

}  // namespace chokepoint::rdma::devices
