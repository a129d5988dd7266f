#include "probe/tcp/placement.h"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <array>

#include "base/host/kernel_text.h"
#include "base/net/rtnetlink.h"
#include "base/net/socket.h"

namespace chokepoint::probe::tcp {
namespace {

constexpr std::string_view kNodes = "/sys/devices/system/node";

std::size_t node_count(const sys::Root& root) {
  const std::vector<std::string> names = root.list(kNodes);
  return static_cast<std::size_t>(std::ranges::count_if(names, [](const std::string& name) {
    return name.starts_with("node") && host::number_of(std::string_view(name).substr(4));
  }));
}

std::string interface_with(const net::Address& address) {
  const Result<net::AddressesByIndex> all = net::dump_addresses();
  if (!all) {
    return {};
  }
  for (const auto& [index, addresses] : *all) {
    std::array<char, IF_NAMESIZE> name{};
    if (std::ranges::find(addresses, address, &net::InterfaceAddress::address) != addresses.end() &&
        if_indextoname(static_cast<unsigned>(index), name.data()) != nullptr) {
      return name.data();
    }
  }
  return {};
}

}  // namespace

std::vector<int> cpus_near_interface(const std::string& interface, const sys::Root& root) {
  const auto node = root.number(fmt::format("/sys/class/net/{}/device/numa_node", interface));
  if (interface.empty() || node_count(root) < 2 || !node || *node < 0) {
    return {};
  }
  return host::cpus_of(root.text(fmt::format("{}/node{}/cpulist", kNodes, *node)).value_or(""));
}

std::vector<int> cpus_near(int fd, const sys::Root& root) {
  const Result<net::Endpoint> local = net::local_endpoint(fd);
  if (!local || node_count(root) < 2) {
    return {};
  }
  return cpus_near_interface(interface_with(local->address.unmapped()), root);
}

}  // namespace chokepoint::probe::tcp
