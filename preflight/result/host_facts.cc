#include "preflight/result/host_facts.h"

#include "base/control/bodies.h"
#include "base/control/fields.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;
using control::or_null;

constexpr std::size_t kLongestHost = 255;
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestAddress = 128;
constexpr int kMostPort = 255;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMostDevices = 1 << 20;
constexpr double kFurthestMs = 1e13;  // some three hundred years
constexpr double kFastest = 1e9;      // a petabit a second, in Mb/s

Json json_of(const InterfaceFacts& facts) {
  return {{"name", facts.name},
          {"addresses", facts.addresses},
          {"networks", facts.networks},
          {"mtu", or_null(facts.mtu)},
          {"speed_mbps", or_null(facts.speed_mbps)},
          {"pci_mbps", or_null(facts.pci_mbps)},
          {"is_port", facts.is_port},
          {"is_up", facts.is_up}};
}

Json json_of(const RdmaPortFacts& facts) {
  return {{"device", facts.device},
          {"port", facts.port},
          {"interface", facts.interface},
          {"speed_mbps", or_null(facts.speed_mbps)},
          {"is_active", facts.is_active}};
}

std::unexpected<Error> wrong(const char* name, std::string_view wanted) {
  return fail(ErrorKind::Malformed, "read message", name, wanted);
}

Result<std::vector<std::string>> texts_in(const Json& json, const char* name) {
  return control::list_in<std::string>(json, name, [&](const Json& each) -> Result<std::string> {
    if (!each.is_string() || each.get_ref<const std::string&>().size() > kLongestAddress) {
      return wrong(name, "wanted short texts");
    }
    return each.get<std::string>();
  });
}

Result<InterfaceFacts> interface_in(const Json& json) {
  control::Fields in(json, "interface");
  InterfaceFacts facts{.name = in.text("name", kLongestName),
                       .mtu = in.maybe_integer("mtu", 0, kMostBytes),
                       .speed_mbps = in.maybe_number("speed_mbps", 0, kFastest),
                       .pci_mbps = in.maybe_number("pci_mbps", 0, kFastest),
                       .is_port = in.boolean("is_port"),
                       .is_up = in.boolean("is_up")};
  Result<std::vector<std::string>> addresses = texts_in(json, "addresses");
  Result<std::vector<std::string>> networks = texts_in(json, "networks");
  if (!addresses || !networks) {
    return std::unexpected(addresses ? networks.error() : addresses.error());
  }
  if (addresses->size() > kMostAddresses || networks->size() != addresses->size()) {
    return wrong("networks", "wanted one for each address, and no more than any host has");
  }
  facts.addresses = std::move(*addresses);
  facts.networks = std::move(*networks);
  return in.finish(std::move(facts));
}

Result<RdmaPortFacts> rdma_port_in(const Json& json) {
  control::Fields in(json, "RDMA port");
  return in.finish(RdmaPortFacts{.device = in.text("device", kLongestName),
                                 .port = static_cast<int>(in.integer("port", 0, kMostPort)),
                                 .interface = in.text("interface", kLongestName),
                                 .speed_mbps = in.maybe_number("speed_mbps", 0, kFastest),
                                 .is_active = in.boolean("is_active")});
}

bool is_longer(const Json& json, const char* name, std::size_t most) {
  const auto at = json.find(name);
  return at != json.end() && at->size() > most;
}

}  // namespace

Json json_of(const HostFacts& facts) {
  const auto interface = [](const InterfaceFacts& each) { return json_of(each); };
  const auto port = [](const RdmaPortFacts& each) { return json_of(each); };
  return {{"host", facts.host},
          {"interfaces", control::list_body(facts.interfaces, interface)},
          {"rdma", control::list_body(facts.rdma, port)},
          {"receive_buffer_bytes", or_null(facts.receive_buffer_bytes)},
          {"send_buffer_bytes", or_null(facts.send_buffer_bytes)},
          {"congestion_control", facts.congestion_control},
          {"cpus", or_null(facts.cpus)},
          {"gpus", or_null(facts.gpus)},
          {"wall_less_monotonic_ms", or_null(facts.wall_less_monotonic_ms)},
          {"has_gloo", facts.has_gloo}};
}

Result<HostFacts> host_facts_in(const Json& json) {
  if (!json.is_object()) {
    return wrong("facts", "wanted an object");
  }
  if (is_longer(json, "interfaces", kMostInterfaces) || is_longer(json, "rdma", kMostRdmaPorts)) {
    return wrong("facts", "more interfaces than any host has");
  }
  control::Fields in(json, "facts");
  HostFacts facts{.host = in.text("host", kLongestHost),
                  .receive_buffer_bytes = in.maybe_integer("receive_buffer_bytes", 0, kMostBytes),
                  .send_buffer_bytes = in.maybe_integer("send_buffer_bytes", 0, kMostBytes),
                  .congestion_control = in.text("congestion_control", kLongestName),
                  .cpus = in.maybe_integer("cpus", 0, kMostDevices),
                  .gpus = in.maybe_integer("gpus", 0, kMostDevices),
                  .wall_less_monotonic_ms =
                      in.maybe_number("wall_less_monotonic_ms", -kFurthestMs, kFurthestMs),
                  .has_gloo = in.boolean("has_gloo")};
  Result<std::vector<InterfaceFacts>> interfaces =
      control::list_in<InterfaceFacts>(json, "interfaces", interface_in);
  Result<std::vector<RdmaPortFacts>> rdma =
      control::list_in<RdmaPortFacts>(json, "rdma", rdma_port_in);
  if (!interfaces || !rdma) {
    return std::unexpected(interfaces ? rdma.error() : interfaces.error());
  }
  facts.interfaces = std::move(*interfaces);
  facts.rdma = std::move(*rdma);
  return in.finish(std::move(facts));
}

}  // namespace chokepoint::preflight
