#include "tests/preflight/crowd/network.h"

#include <algorithm>

namespace chokepoint::preflight::crowd {
namespace {

void suffer(PathFigures& figures, const Fault& fault) {
  figures.mbps = std::min(figures.mbps, fault.mbps.value_or(figures.mbps));
  figures.loss_percent += fault.loss_percent.value_or(0);
  figures.mtu_bytes = std::min(figures.mtu_bytes, fault.mtu_bytes.value_or(figures.mtu_bytes));
}

template <class Key>
void suffer(PathFigures& figures, const std::map<Key, Fault>& faults, const Key& key) {
  if (const auto found = faults.find(key); found != faults.end()) {
    suffer(figures, found->second);
  }
}

// splitmix64's last steps: as good as a switch's hash.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace

bool crosses(const Network& network, HostIndex a, HostIndex b) {
  return network.group > 0 && a / network.group != b / network.group;
}

HostIndex path_of(const Network& network, HostIndex from, HostIndex to, std::uint32_t flow) {
  const std::uint64_t key = (std::uint64_t{from} << 40U) ^ (std::uint64_t{to} << 16U) ^ flow;
  return static_cast<HostIndex>(mixed(key + 0x9e3779b97f4a7c15U) % network.paths);
}

PathFigures path_figures(const Network& network, HostIndex from, HostIndex to, int together,
                         std::uint32_t flow) {
  PathFigures figures{.mbps = network.port_mbps, .mtu_bytes = network.mtu_bytes};
  suffer(figures, network.hosts, from);
  suffer(figures, network.hosts, to);
  suffer(figures, network.paths_between, {from, to});
  if (!crosses(network, from, to)) {
    return figures;
  }
  if (network.uplink_mbps > 0) {
    figures.mbps = std::min(figures.mbps, network.uplink_mbps / std::max(together, 1));
  }
  const HostIndex path = path_of(network, from, to, flow);
  suffer(figures, network.trunks, {from / network.group, path});
  suffer(figures, network.trunks, {to / network.group, path});
  return figures;
}

}  // namespace chokepoint::preflight::crowd
