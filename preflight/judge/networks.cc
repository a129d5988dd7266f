#include "preflight/judge/networks.h"

#include <algorithm>

namespace chokepoint::preflight {

std::map<std::string, std::vector<HostIndex>> networks_of(const ClusterInput& scene) {
  std::map<std::string, std::vector<HostIndex>> networks;
  for (HostIndex host = 0; host < scene.hosts(); ++host) {
    const InterfaceFacts* interface = scene.interface(host);
    if (interface == nullptr) {
      continue;
    }
    const auto at =
        static_cast<std::size_t>(std::ranges::find(interface->addresses, scene.host(host).address) -
                                 interface->addresses.begin());
    if (at < interface->networks.size()) {
      networks[interface->networks[at]].push_back(host);
    }
  }
  return networks;
}

}  // namespace chokepoint::preflight
