#include "rdma/fabric/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/host/nic_statistics.h"
#include "base/host/rdma.h"
#include "base/host/rdma_counters.h"

namespace chokepoint::rdma::fabric {
namespace {

// What the device counts of itself holds where the interface means the same.
void add(PortCounters& port, Counted counted) {
  if (std::ranges::find(port.counters, counted.name, &Counted::name) == port.counters.end()) {
    port.counters.push_back(std::move(counted));
  }
}

void add_all(const sys::Root& root, const std::vector<host::RdmaCounter>& found,
             PortCounters& port) {
  for (const host::RdmaCounter& each : found) {
    if (const std::optional<std::uint64_t> raw = host::read_raw(root, each)) {
      add(port, {.name = each.name, .raw = *raw, .unit = each.unit});
    }
  }
}

void add_statistics(const host::LinkQuery& links, PortCounters& port) {
  for (const auto& [name, value] : host::common_statistics(links.ask(port.netdev).statistics)) {
    add(port, {.name = name, .raw = value});
  }
}

}  // namespace

PortCounters read_counters(const sys::Root& root, const std::string& device, int port,
                           const host::LinkQuery& links) {
  PortCounters counters{.subject = fmt::format("{}/{}", device, port)};
  add_all(root, host::find_rdma_counters(root, device, port), counters);
  add_all(root, host::find_rdma_counters(root, device), counters);
  counters.netdev = host::netdev_of_port(root, device, port).value_or("");
  if (!counters.netdev.empty()) {
    add_statistics(links, counters);
  }
  return counters;
}

}  // namespace chokepoint::rdma::fabric
