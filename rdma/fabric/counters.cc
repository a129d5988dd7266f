#include "rdma/fabric/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>

#include "base/host/nic_statistics.h"
#include "base/host/rdma.h"
#include "base/host/rdma_counters.h"
#include "base/json/codec.h"

namespace chokepoint {

template <>
struct Fields<rdma::fabric::Changes> {
  using C = rdma::fabric::Changes;
  static constexpr std::size_t kMaxName = 64;  // bytes, of printable ASCII
  static constexpr std::size_t kMaxCounters = 512;
  static constexpr std::tuple kList{
      field("subject", &C::subject, "device and port").up_to_bytes(kMaxName),
      field("netdev", &C::netdev, "the port's interface; empty: none is known")
          .up_to_bytes(kMaxName),
      field("grown", &C::grown, "counters that grew, and by how much"),
      field("still", &C::still, "counters that did not change").up_to_items(kMaxCounters),
      field("lost", &C::lost, "counters that restarted from 0, or could not be read at the end")
          .up_to_items(kMaxCounters)};

  static bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxName &&
           std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  }
  static const char* wrong(const C& changes) {
    const bool are_names = std::ranges::all_of(changes.still, is_name) &&
                           std::ranges::all_of(changes.lost, is_name) &&
                           std::ranges::all_of(std::views::keys(changes.grown), is_name);
    return are_names && changes.grown.size() <= kMaxCounters
               ? nullptr
               : "names of 1 to 64 printable ASCII characters, of at most 512 counters";
  }
};

}  // namespace chokepoint

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

std::optional<std::uint64_t> Changes::of(std::string_view name) const {
  const auto at = grown.find(std::string(name));
  if (at != grown.end()) {
    return at->second;
  }
  return std::ranges::find(still, name) == still.end() ? std::nullopt
                                                       : std::optional<std::uint64_t>(0);
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
