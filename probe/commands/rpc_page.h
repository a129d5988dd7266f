// What 'chokepoint probe rpc' measured, and its page for people. One thread.
#pragma once

#include <optional>

#include "base/cli/context.h"
#include "base/documents/probe_rpc.h"
#include "probe/path/families.h"
#include "probe/rpc/parameters.h"

namespace chokepoint::probe {

struct RpcMeasured {
  rpc::Parameters parameters = {};
  documents::ProbeRpc document = {};
  // nullopt where the peer was given as an address.
  std::optional<path::HostFacts> name = {};
};

void print_page(const cli::Context& context, const RpcMeasured& measured);

}  // namespace chokepoint::probe
