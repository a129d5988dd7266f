// Which hosts a preflight is between: named on the command line, in a file, or by the Slurm job
// that it runs in. Pure but for the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "base/sys/error.h"
#include "preflight/lead/wanted.h"

namespace chokepoint::preflight {

struct HostFlags {
  std::vector<std::string> hosts = {};  // HOST, HOST:PORT, USER@HOST, gpu[01-16], a,b
  std::string file = {};
  std::int64_t port = control::kPort;
};

// At least two, none of them twice; mistakes are of kind Usage.
Result<std::vector<lead::HostWanted>> wanted_hosts(const HostFlags& flags,
                                                   const cli::Environment& environment);

// One of those words.
Result<std::vector<lead::HostWanted>> hosts_in(const std::string& word, std::uint16_t port);

}  // namespace chokepoint::preflight
