// Names to addresses, through the system's resolver. Blocks for as long as the resolver does:
// callers that must not wait ask from a thread of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"

namespace chokepoint::net {

// Every address of a name, in the order in which they should be tried, without repetition. An
// address as text resolves to itself. `only` leaves out the other family.
Result<std::vector<Address>> resolve(const std::string& name, std::optional<Family> only);

}  // namespace chokepoint::net
