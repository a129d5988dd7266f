#include "probe/collective/gloo/device.h"

#include <net/if.h>

#include <algorithm>
#include <string_view>

#include "base/net/address.h"
#include "base/net/socket.h"
#include "base/sys/root.h"
#include "probe/collective/gloo/library.h"

namespace chokepoint::probe::collective {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

Result<GlooDevice> device_of(const std::string& name) {
  if (name.starts_with('^') || name.starts_with('=')) {
    return fail(ErrorKind::Usage, kGlooOperation, name,
                "Gloo takes interfaces' exact names, without '^' or '='",
                "'ip -brief address' lists them");
  }
  if (net::Address::parse(name)) {
    return GlooDevice{.address = name};
  }
  if (if_nametoindex(name.c_str()) == 0) {
    return fail(ErrorKind::NotFound, kGlooOperation, name, "no such interface on this host",
                "'ip -brief address' lists them");
  }
  return GlooDevice{.interface = name};
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) {
      parts.emplace_back(list.substr(0, end));
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

bool can_bind(const net::Address& address) {
  return net::bind_udp({.address = address}, {}).has_value();
}

constexpr std::string_view kNotReached =
    ", by which no other host can be reached; name an interface by --interface or "
    "GLOO_SOCKET_IFNAME";

GlooDevices loopback(const NameLookup& lookup) {
  return {.devices = {{.address = kLoopback}},
          .remark = "the host's name '" + lookup.name +
                    "' stands for no address of this host, so that Gloo took loopback" +
                    std::string(kNotReached)};
}

GlooDevices by_name(const net::Address& own, const NameLookup& lookup) {
  GlooDevices chosen{.devices = {{.address = own.text()}}};
  if (own.is_loopback()) {
    chosen.remark =
        "the host's name '" + lookup.name + "' stands for " + own.text() + std::string(kNotReached);
  }
  return chosen;
}

}  // namespace

Result<GlooDevices> choose_gloo_devices(const std::string& named, const NameLookup& lookup) {
  GlooDevices chosen;
  for (const std::string& name : split(named)) {
    TRY(GlooDevice device, device_of(name));
    chosen.devices.push_back(std::move(device));
  }
  if (!chosen.devices.empty()) {
    return chosen;
  }
  const Result<std::vector<net::Address>> addresses = lookup.addresses();
  if (!addresses) {
    return loopback(lookup);
  }
  const auto own = std::ranges::find_if(*addresses, lookup.is_own);
  return own == addresses->end() ? loopback(lookup) : by_name(*own, lookup);
}

NameLookup own_name_lookup() {
  std::string name = sys::host_name(sys::Root());
  return {.name = name,
          .addresses = [name] { return net::resolve(name, std::nullopt); },
          .is_own = can_bind};
}

}  // namespace chokepoint::probe::collective
