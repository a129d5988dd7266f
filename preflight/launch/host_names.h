// The names of hosts that are given to launchers. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "base/host/network.h"
#include "base/sys/error.h"

namespace chokepoint::preflight {

// Names for ssh, srun and mpirun: none may look like an option or have letters that a shell, which
// ssh's own settings may call, would take for more than a name.
Result<> check_names(const std::vector<std::string>& hosts);

// This host by its name, short or in full, or by an address of its own.
bool is_this_host(const std::string& name, const std::string& own_name,
                  const host::Addresses& own_addresses);

}  // namespace chokepoint::preflight
