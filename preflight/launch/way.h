// How a program is started on another host by ssh, srun or mpirun: one of them for each host, so
// that a host that fails, fails alone. (One srun or mpirun for all ends all where one of the hosts
// is not there, which is what a preflight is to find out; and mpirun hands its standard input, and
// its end, to one rank only.) Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "preflight/launch/launch.h"
#include "preflight/launch/script.h"

namespace chokepoint::preflight {

struct Way {
  std::string program;
  // Whether it hands bytes on as they are, and leads to hosts that share nothing with this one.
  bool can_copy = false;
  std::vector<std::pair<std::string, std::string>> environment = {};
  Words (*command)(const std::string& host, const Words& there) = nullptr;
};

// None has none.
Way way_of(Launcher launcher);

}  // namespace chokepoint::preflight
