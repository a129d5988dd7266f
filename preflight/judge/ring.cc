// Three hosts with two ports each can do without a switch: a cable between every two of them. NCCL
// pairs adapters of different hosts by their index, so that each cable has to lead from the first
// port of one host to the second of the next. Which cable is where follows from the networks: two
// hosts alone share that of a cable.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/sys/number.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

constexpr std::size_t kRingHosts = 3;
constexpr std::size_t kRingPorts = 2;

struct CableEnd {
  HostIndex host = 0;
  const InterfaceFacts* interface = nullptr;
};

struct Cable {
  CableEnd one = {};
  CableEnd other = {};
};

// The networks of two hosts alone, without the one over which hosts are reached.
std::vector<Cable> cables_of(const ClusterInput& input) {
  std::map<std::string, std::vector<CableEnd>> ends;
  for (HostIndex host = 0; host < input.hosts(); ++host) {
    if (!input.host(host).facts) {
      continue;
    }
    for (const InterfaceFacts& interface : input.host(host).facts->interfaces) {
      if (!interface.is_up || &interface == input.interface(host)) {
        continue;
      }
      for (const std::string& network :
           std::set(interface.networks.begin(), interface.networks.end())) {
        ends[network].push_back({host, &interface});
      }
    }
  }
  std::vector<Cable> cables;
  for (const auto& [network, both] : ends) {
    if (both.size() == 2 && both[0].host != both[1].host && !network.starts_with("fe80:")) {
      cables.push_back({both[0], both[1]});
    }
  }
  return cables;
}

// 1 of "enp1s0f1np1" and "enP2p1s0f1np1", the kernel's name of a port; nothing of other names.
std::optional<int> number_in(std::string_view interface) {
  const std::size_t mark = interface.rfind("np");
  return mark == std::string_view::npos ? std::nullopt
                                        : sys::parse_number<int>(interface.substr(mark + 2));
}

// By host, its ports in their order: each a number, or a name that has none.
using Ports = std::vector<std::set<std::pair<int, std::string>>>;

std::pair<int, std::string> port_of(const CableEnd& end) {
  const std::optional<int> number = number_in(end.interface->name);
  return number ? std::pair(*number, std::string()) : std::pair(0, end.interface->name);
}

Ports ports_of(const ClusterInput& input, const std::vector<Cable>& cables) {
  Ports ports(input.hosts());
  for (const Cable& cable : cables) {
    ports[cable.one.host].insert(port_of(cable.one));
    ports[cable.other.host].insert(port_of(cable.other));
  }
  return ports;
}

bool is_ring(const std::vector<Cable>& cables, const Ports& ports) {
  std::set<std::pair<HostIndex, HostIndex>> pairs;
  for (const Cable& cable : cables) {
    pairs.insert(std::minmax(cable.one.host, cable.other.host));
  }
  return ports.size() == kRingHosts && pairs.size() == kRingHosts &&
         std::ranges::all_of(ports, [](const auto& of) { return of.size() == kRingPorts; });
}

std::ptrdiff_t place_of(const Ports& ports, const CableEnd& end) {
  const auto& all = ports[end.host];
  return std::distance(all.begin(), all.find(port_of(end)));
}

std::string cable_words(const ClusterInput& input, const Cable& cable) {
  return fmt::format("{} {} to {} {}", input.name(cable.one.host), cable.one.interface->name,
                     input.name(cable.other.host), cable.other.interface->name);
}

Status ring_status(const ClusterInput& input) {
  const bool has_rdma = std::ranges::any_of(input.measured().hosts, [](const HostResult& host) {
    return host.facts && !host.facts->rdma.empty();
  });
  // By TCP any two ports that reach each other do.
  return has_rdma ? Status::Warning : Status::Info;
}

}  // namespace

void judge_ring(JudgeContext& context) {
  const ClusterInput& input = context.input;
  const std::vector<Cable> cables = cables_of(input);
  const Ports ports = ports_of(input, cables);
  if (!is_ring(cables, ports)) {
    return;
  }
  std::string wrong;
  Finding finding{.place = Place::Cluster};
  for (const Cable& cable : cables) {
    if (place_of(ports, cable.one) == place_of(ports, cable.other)) {
      wrong += (wrong.empty() ? "" : ", ") + cable_words(input, cable);
      finding.hosts.push_back(cable.one.host);
      finding.hosts.push_back(cable.other.host);
    }
  }
  if (wrong.empty()) {
    context.pass("link.ring", "each cable joins a first and a second port");
    return;
  }
  std::ranges::sort(finding.hosts);
  const auto again = std::ranges::unique(finding.hosts);
  finding.hosts.erase(again.begin(), again.end());
  finding.check = {
      .id = "link.ring",
      .status = ring_status(input),
      .subject = "cluster",
      .found = "the same port at both ends: " + wrong,
      .wanted = "the first port of each host to the second of the next",
      .why =
          "NCCL pairs adapters by their index, and then joins ports that no cable joins: "
          "ibv_modify_qp fails with 110, connection timed out",
      .next_step = with_note("export NCCL_IB_SUBNET_AWARE_ROUTING=1",
                             "and move the cables, and their addresses with them")};
  context.add(std::move(finding));
}

}  // namespace chokepoint::preflight
