// Names to addresses, through the system's resolver. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/sys/error.h"

namespace chokepoint::net {

// Every address of a name, in the order in which they should be tried, without repetition. An
// address as text resolves to itself. `only` leaves out the other family. Blocks for as long as the
// resolver does: for callers that may wait, or that ask from a thread of their own.
Result<std::vector<Address>> resolve(const std::string& name, std::optional<Family> only);

// The same, but no longer than the deadline lasts. A lookup cannot be cancelled: one that is late
// goes on on a thread of its own, and its answer is thrown away.
Result<std::vector<Address>> resolve_within(const std::string& name, std::optional<Family> only,
                                            const Deadline& deadline);

}  // namespace chokepoint::net
