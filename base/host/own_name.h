// This host's own name and what it leads to. Gloo binds the first of these addresses that is this
// host's, unless it is told an interface.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/host/fact.h"
#include "base/net/address.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::host {

// Names to addresses, in the order in which getaddrinfo gives them, because that order decides what
// Gloo binds. The running host asks its resolver; a copy of another host's tree only knows what its
// /etc/hosts says.

class Resolver {
 public:
  virtual ~Resolver() = default;
  // NotFound where the name leads nowhere, Timeout where nobody answered.
  virtual Result<std::vector<net::Address>> resolve(const std::string& name) = 0;
};

// The system's where the root is live: blocks for as long as it does. Else the copy's /etc/hosts.
std::unique_ptr<Resolver> resolver_for(const sys::Root& root);

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
