#include "rdma/fabric/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>

#include "base/host/nic_statistics.h"
#include "base/host/rdma.h"
#include "base/host/rdma_counters.h"
#include "base/json/codec.h"

namespace chokepoint::rdma::fabric {
namespace {

// A counter of the device takes precedence over the same one of its interface.
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

Changes changes(const PortCounters& before, const PortCounters& after) {
  Changes changes{.subject = after.subject, .netdev = after.netdev};
  for (const Counted& was : before.counters) {
    const auto is = std::ranges::find(after.counters, was.name, &Counted::name);
    const std::optional<std::uint64_t> growth =
        is == after.counters.end() ? std::nullopt : host::growth_of(was.raw, is->raw);
    if (!growth) {
      changes.lost.push_back(was.name);
    } else if (*growth == 0) {
      changes.still.push_back(was.name);
    } else {
      changes.grown[was.name] = *growth * was.unit;
    }
  }
  std::ranges::sort(changes.lost);
  std::ranges::sort(changes.still);
  return changes;
}

control::Json body_of(const Changes& changes) { return json::to_json(changes); }

Result<Changes> changes_in(const control::Json& body) {
  return json::from_json<Changes>(body, "counters");
}

}  // namespace chokepoint::rdma::fabric
