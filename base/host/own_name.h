// This host's own name and what it leads to. Gloo binds the first of these addresses that is this
// host's, unless it is told an interface.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host/fact.h"
#include "base/host/resolver.h"
#include "base/net/address.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct OwnName {
  std::optional<std::string> name;
  std::optional<std::vector<net::Address>> addresses;  // empty: the name leads nowhere
  std::optional<Error> error;                          // why the addresses are not known
};

OwnName read_own_name(const sys::Root& root, Resolver& resolver);
OwnName read_own_name(const sys::Root& root);  // with resolver_for(root)
// What is known where the resolver did not answer in time.
OwnName unanswered_own_name(const sys::Root& root);
void append_facts(const OwnName& own, Facts& facts);

}  // namespace chokepoint::host
