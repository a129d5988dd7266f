// What 'chokepoint probe rpc' answers: the rest of its document, and its page for people.
#pragma once

#include <optional>
#include <string>

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "probe/path/families.h"
#include "probe/rpc/outcome.h"
#include "probe/rpc/test.h"

namespace chokepoint::probe {

struct RpcMeasured {
  rpc::Trial trial = {};
  rpc::Outcome outcome = {};
  net::Family family = net::Family::Ipv4;  // that was used
  // nullopt where the peer was given as an address.
  std::optional<path::HostFacts> name = {};
  std::optional<rpc::FamilyLook> other_family = {};
  std::optional<std::string> dual_stack_finding = {};
};

// Into `document`, which has its head already.
void add_to(cli::Json& document, const RpcMeasured& measured);
void print_page(const cli::Context& context, const RpcMeasured& measured);

}  // namespace chokepoint::probe
