// The network that simulated hosts stand in: what a test between two of them would find. Values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "preflight/task/measured.h"

namespace chokepoint::preflight::crowd {

struct Fault {
  std::optional<double> mbps = {};
  std::optional<double> loss_percent = {};
  std::optional<int> mtu_bytes = {};
};

struct Network {
  double port_mbps = 10'000;
  double rtt_ms = 0.1;
  int mtu_bytes = 1500;
  // Hosts 0 … group-1 stand at one switch, the next ones at another; 0: all at one.
  HostIndex group = 0;
  double uplink_mbps = 0;  // of each switch, shared by all flows between switches
  // A share of 1/paths of the flows between switches takes each of a switch's paths up.
  HostIndex paths = 1;
  std::map<HostIndex, Fault> hosts = {};                                // their cable: both ways
  std::map<std::pair<HostIndex, HostIndex>, Fault> paths_between = {};  // from, to
  std::map<std::pair<HostIndex, HostIndex>, Fault> trunks = {};  // switch, its path up: both ways
};

struct PathFigures {
  double mbps = 0;
  double loss_percent = 0;
  int mtu_bytes = 1500;
};

// `together`: flows between switches at that time, this one included. `flow` tells flows between
// the same two apart, as their ports do.
PathFigures path_figures(const Network& network, HostIndex from, HostIndex to, int together = 1,
                         std::uint32_t flow = 0);
bool crosses(const Network& network, HostIndex a, HostIndex b);
// Which of a switch's paths a flow takes.
HostIndex path_of(const Network& network, HostIndex from, HostIndex to, std::uint32_t flow);

}  // namespace chokepoint::preflight::crowd
