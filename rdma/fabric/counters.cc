#include "rdma/fabric/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/control/fields.h"
#include "base/host/nic_statistics.h"
#include "base/host/rdma.h"
#include "base/host/rdma_counters.h"

namespace chokepoint::rdma::fabric {
namespace {

using control::Json;

constexpr std::size_t kMaxCounterName = 64;
constexpr std::size_t kMaxCounters = 512;

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

Result<> wrong(const char* name, const char* wanted) {
  return fail(ErrorKind::Malformed, "read message", name, wanted);
}

bool is_name(const std::string& text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  return !text.empty() && text.size() <= kMaxCounterName && std::ranges::all_of(text, is_plain);
}

Result<> read_grown(const Json& body, Changes& changes) {
  const auto at = body.find("grown");
  if (at == body.end() || !at->is_object() || at->size() > kMaxCounters) {
    return wrong("grown", "wanted counters by name");
  }
  for (const auto& [name, value] : at->items()) {
    if (!is_name(name) || !value.is_number_unsigned()) {
      return wrong("grown", "wanted a name and a number of each counter");
    }
    changes.grown[name] = value.get<std::uint64_t>();
  }
  return {};
}

Result<> read_names(const Json& body, const char* key, std::set<std::string>& names) {
  const auto at = body.find(key);
  if (at == body.end() || !at->is_array() || at->size() > kMaxCounters) {
    return wrong(key, "wanted a list of counters' names");
  }
  for (const Json& each : *at) {
    if (!each.is_string() || !is_name(each.get<std::string>())) {
      return wrong(key, "wanted counters' names");
    }
    names.insert(each.get<std::string>());
  }
  return {};
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
  return still.contains(std::string(name)) ? std::optional<std::uint64_t>(0) : std::nullopt;
}

Changes changes(const PortCounters& before, const PortCounters& after) {
  Changes changes{.subject = after.subject, .netdev = after.netdev};
  for (const Counted& was : before.counters) {
    const auto is = std::ranges::find(after.counters, was.name, &Counted::name);
    const std::optional<std::uint64_t> growth =
        is == after.counters.end() ? std::nullopt : host::growth_of(was.raw, is->raw);
    if (!growth) {
      changes.lost.insert(was.name);
    } else if (*growth == 0) {
      changes.still.insert(was.name);
    } else {
      changes.grown[was.name] = *growth * was.unit;
    }
  }
  return changes;
}

Json body_of(const Changes& changes) {
  Json grown = Json::object();
  for (const auto& [name, value] : changes.grown) {
    grown[name] = value;
  }
  return {{"subject", changes.subject},
          {"netdev", changes.netdev},
          {"grown", std::move(grown)},
          {"still", changes.still},
          {"lost", changes.lost}};
}

Result<Changes> changes_in(const Json& body) {
  control::Fields in(body, "counters");
  Changes changes{.subject = in.text("subject", kMaxCounterName),
                  .netdev = in.text("netdev", kMaxCounterName)};
  if (const Result<Changes> plain = in.finish(changes); !plain) {
    return plain;
  }
  for (const Result<>& read : {read_grown(body, changes), read_names(body, "still", changes.still),
                               read_names(body, "lost", changes.lost)}) {
    if (!read) {
      return std::unexpected(read.error());
    }
  }
  return changes;
}

}  // namespace chokepoint::rdma::fabric
