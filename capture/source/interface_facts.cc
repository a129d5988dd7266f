#include "capture/source/interface_facts.h"

#include <net/if.h>

#include <cstdlib>
#include <string_view>

namespace chokepoint::capture::source {
namespace {

constexpr std::string_view kFolder = "/sys/class/net";
constexpr std::string_view kLower = "lower_";

InterfaceKind kind_of(const sys::Root& root, const std::string& folder) {
  const std::string words = root.text(folder + "/uevent").value_or("");
  if (root.exists(folder + "/bridge")) {
    return InterfaceKind::Bridge;
  }
  const bool tunnel = words.find("DEVTYPE=vxlan") != std::string::npos ||
                      words.find("DEVTYPE=geneve") != std::string::npos;
  return tunnel ? InterfaceKind::Tunnel : InterfaceKind::Other;
}

bool is_up(const sys::Root& root, const std::string& folder) {
  const std::string flags = root.text(folder + "/flags").value_or("0");
  return (std::strtoul(flags.c_str(), nullptr, 16) & IFF_UP) != 0;
}

std::optional<std::int64_t> speed_of(const sys::Root& root, const std::string& folder) {
  const auto speed = root.number(folder + "/speed");
  return speed.value_or(0) > 0 ? speed : std::nullopt;
}

}  // namespace

std::vector<InterfaceFacts> read_interfaces(const sys::Root& root) {
  std::vector<InterfaceFacts> all;
  for (const std::string& name : root.list(kFolder)) {
    const std::string folder = std::string(kFolder) + "/" + name;
    const auto index = root.number(folder + "/ifindex");
    if (!index) {
      continue;
    }
    InterfaceFacts facts{
        .name = name,
        .kind = kind_of(root, folder),
        .up = is_up(root, folder),
        .mtu = static_cast<std::uint32_t>(root.number(folder + "/mtu").value_or(0)),
        .speed_mbps = speed_of(root, folder),
        .index = *index,
        .link_index = root.number(folder + "/iflink").value_or(*index)};
    for (const std::string& entry : root.list(folder)) {
      if (entry.starts_with(kLower)) {
        facts.stands_on.push_back(entry.substr(kLower.size()));
      }
    }
    all.push_back(std::move(facts));
  }
  return all;
}

}  // namespace chokepoint::capture::source
