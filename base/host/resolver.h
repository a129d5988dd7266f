// Names to addresses, in the order in which getaddrinfo gives them, because that order decides what
// Gloo binds. The running host asks its resolver; a copy of another host's tree only knows what its
// /etc/hosts says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::host {

class Resolver {
 public:
  virtual ~Resolver() = default;
  // NotFound where the name leads nowhere, Timeout where nobody answered.
  virtual Result<std::vector<net::Address>> resolve(const std::string& name) = 0;
};

// The system's where the root is live: blocks for as long as it does. Else the copy's /etc/hosts.
std::unique_ptr<Resolver> resolver_for(const sys::Root& root);

}  // namespace chokepoint::host
