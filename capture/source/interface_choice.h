// Which interfaces to listen on, so that no packet is counted twice. Decided by how they are put
// together, before the first packet, never by comparing packets. A pure function.
//
//   bond, team, VLAN, macvlan   an upper one sees what its lower ones see: it is left out where all
//                               of those that are up are listened on, else they are
//   bridge                      a packet passes two ports, or a port and the bridge: with a port
//                               that leads out of the host, only such ports are kept; else only
//                               the bridge
//   veth                        both ends in one namespace: the first is kept
//   ifb                         repeats what another interface saw; never part of "any"
#pragma once

#include <string>
#include <vector>

#include "base/sys/error.h"
#include "capture/source/interface_facts.h"

namespace chokepoint::capture::source {

struct InterfaceChoice {
  std::vector<InterfaceFacts> interfaces = {};
  std::vector<std::string> remarks = {};  // what was left out, and why
};

// `names` empty or {"any"}: all that are up. Fails on a name that is not there.
Result<InterfaceChoice> choose_interfaces(const std::vector<InterfaceFacts>& all,
                                          const std::vector<std::string>& names);

}  // namespace chokepoint::capture::source
