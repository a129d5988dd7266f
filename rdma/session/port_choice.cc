#include "rdma/session/port_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "base/host/rdma.h"
#include "base/net/address.h"
#include "base/sys/error.h"

namespace chokepoint::rdma::session {
namespace {

using host::RdmaDevice;
using host::RdmaGid;
using host::RdmaPort;

constexpr std::size_t kMaxListedGids = 12;

verbs::GidType type_of(const RdmaPort& port, const RdmaGid& gid) {
  if (!host::is_ethernet(port)) {
    return verbs::GidType::InfiniBand;
  }
  return gid.type == "RoCE v2" ? verbs::GidType::RoceV2 : verbs::GidType::RoceV1;
}

// A GID of InfiniBand looks like an IPv6 address and is none: family and type do not apply.
bool fits(const RdmaPort& port, const RdmaGid& gid, const PortRequest& wish) {
  if (!host::is_ethernet(port)) {
    return true;
  }
  return (!wish.type || *wish.type == verbs::GidType::InfiniBand ||
          type_of(port, gid) == *wish.type) &&
         (!wish.family || gid.address.unmapped().family() == *wish.family);
}

bool better(const RdmaPort& port, const RdmaGid& a, const RdmaGid& b, const net::Address& control) {
  const auto rank = [&](const RdmaGid& gid) {
    const net::Address address = gid.address.unmapped();
    return std::tuple(type_of(port, gid) == verbs::GidType::RoceV2,
                      address.bytes() == control.unmapped().bytes(), !address.is_link_local(),
                      address.family() == control.unmapped().family(), -gid.index);
  };
  return rank(a) > rank(b);
}

std::string wish_text(const PortRequest& wish) {
  std::string text = wish.type ? std::string(name_of(*wish.type)) : "RDMA";
  if (wish.family) {
    text += *wish.family == net::Family::Ipv4 ? " over IPv4" : " over IPv6";
  }
  return text;
}

// "0 fe80::1 (RoCE v2), 1 …"
std::string list_gids(const RdmaPort& port) {
  std::vector<std::string> texts;
  for (const RdmaGid& gid : port.gids) {
    if (texts.size() == kMaxListedGids) {
      texts.emplace_back("…");
      break;
    }
    texts.push_back(fmt::format("{} {} ({})", gid.index, gid.address.unmapped().text(),
                                name_of(type_of(port, gid))));
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

// The index of the GID.
Result<int> choose_gid(const host::RdmaDevice& device, const RdmaPort& port,
                       const PortRequest& wish, const net::Address& control) {
  const std::string name = fmt::format("{} port {}", device.name, port.number);
  if (wish.gid_index) {
    if (std::ranges::find(port.gids, *wish.gid_index, &RdmaGid::index) != port.gids.end()) {
      return *wish.gid_index;
    }
    return fail(ErrorKind::Usage, "", fmt::format("GID index {} of {}", *wish.gid_index, name),
                "there is no such GID", fmt::format("choose of: {}", list_gids(port)));
  }
  const RdmaGid* best = nullptr;
  for (const RdmaGid& gid : port.gids) {
    if (fits(port, gid, wish) && (best == nullptr || better(port, gid, *best, control))) {
      best = &gid;
    }
  }
  if (best == nullptr && !host::is_ethernet(port)) {
    return 0;
  }
  if (best == nullptr) {
    return fail(ErrorKind::NotFound, "", name,
                fmt::format("no GID of it is for {}: {}", wish_text(wish), list_gids(port)),
                port.gids.empty() ? "give its network interface an address"
                                  : "give its network interface an address of that family, or ask "
                                    "for another one (--gid-family, --roce)");
  }
  return best->index;
}

struct Candidate {
  const RdmaDevice* device = nullptr;
  const RdmaPort* port = nullptr;
};
using Candidates = std::vector<Candidate>;

std::string candidate_text(const Candidate& each) {
  return fmt::format("{} port {}", each.device->name, each.port->number);
}

std::string list_of(const Candidates& candidates) {
  std::vector<std::string> names;
  std::ranges::transform(candidates, std::back_inserter(names), candidate_text);
  return fmt::format("{}", fmt::join(names, ", "));
}

// The rate that an emulated device reports means nothing.
std::string rate_of(const Candidate& each) {
  return each.device->pci ? each.port->rate.value_or("") : "";
}

Candidates all_ports(const std::vector<RdmaDevice>& devices) {
  Candidates all;
  for (const RdmaDevice& device : devices) {
    for (const RdmaPort& port : device.ports) {
      all.push_back({&device, &port});
    }
  }
  return all;
}

Result<Candidates> as_wished(const Candidates& all, const PortRequest& wish) {
  Candidates left;
  std::ranges::copy_if(all, std::back_inserter(left), [&](const Candidate& each) {
    return (wish.device.empty() || each.device->name == wish.device) &&
           (!wish.port || each.port->number == *wish.port);
  });
  if (left.empty()) {
    return fail(ErrorKind::NotFound, "",
                wish.port ? fmt::format("{} port {}", wish.device, *wish.port)
                          : fmt::format("RDMA device '{}'", wish.device),
                "it is not there", fmt::format("there is {}", list_of(all)));
  }
  return left;
}

bool has_address(const Candidate& each, const net::Address& address) {
  return std::ranges::any_of(each.port->gids, [&](const host::RdmaGid& gid) {
    return gid.address.unmapped().bytes() == address.unmapped().bytes();
  });
}

// The ports with the control connection's address, else those of its interface.
Candidates at_control(const Candidates& candidates, const ControlEnd& control) {
  Candidates left;
  std::ranges::copy_if(candidates, std::back_inserter(left),
                       [&](const Candidate& each) { return has_address(each, control.address); });
  if (left.empty() && !control.netdev.empty()) {
    std::ranges::copy_if(candidates, std::back_inserter(left), [&](const Candidate& each) {
      return each.port->netdev == control.netdev;
    });
  }
  return left;
}

Error down(const Candidate& each) {
  const RdmaPort& port = *each.port;
  const bool ethernet = host::is_ethernet(port);
  return {.kind = ErrorKind::Unreachable,
          .operation = {},
          .subject = candidate_text(each),
          .reason = fmt::format("the port is {}", port.state.value_or("in no known state")),
          .next_step = !ethernet ? "does a subnet manager run? 'ibstat' shows the state"
                       : port.netdev
                           ? fmt::format("ip link set {} up; is a cable plugged in?", *port.netdev)
                           : "bring its network interface up: 'rdma link' names it"};
}

Result<Candidate> the_active_one(const Candidates& candidates) {
  Candidates active;
  std::ranges::copy_if(candidates, std::back_inserter(active),
                       [](const Candidate& each) { return host::is_active(*each.port); });
  if (active.size() == 1) {
    return active.front();
  }
  if (active.empty()) {
    return fail(down(candidates.front()));
  }
  return fail(ErrorKind::Usage, "", "RDMA device",
              fmt::format("none belongs to the address that the peer is reached by; {} are active",
                          list_of(active)),
              "name one: --device here, --peer-device there");
}

Result<Candidate> choose(const Candidates& candidates, const ControlEnd& control) {
  if (candidates.size() == 1) {
    return host::is_active(*candidates.front().port) ? Result<Candidate>(candidates.front())
                                                     : fail(down(candidates.front()));
  }
  const Candidates near_control = at_control(candidates, control);
  return the_active_one(near_control.empty() ? candidates : near_control);
}

}  // namespace

Result<PortChoice> choose_port(const std::vector<RdmaDevice>& devices, const PortRequest& wish,
                               const ControlEnd& control) {
  const Candidates all = all_ports(devices);
  if (all.empty()) {
    return fail(ErrorKind::NotFound, "", "RDMA", "this host has no RDMA device",
                "a card needs its driver ('chokepoint doctor' looks for both); without a card: "
                "rdma link add rxe0 type rxe netdev ETH");
  }
  const Result<Candidates> wished = as_wished(all, wish);
  TRY(const Candidate chosen, wished ? choose(*wished, control) : std::unexpected(wished.error()));
  TRY(const int gid, choose_gid(*chosen.device, *chosen.port, wish, control.address));
  PortChoice choice{.device = chosen.device->name,
                    .port = chosen.port->number,
                    .gid_index = gid,
                    .netdev = chosen.port->netdev.value_or(""),
                    .rate = rate_of(chosen)};
  if (chosen.device->numa_node) {
    choice.numa_node = static_cast<int>(*chosen.device->numa_node);
  }
  return choice;
}

}  // namespace chokepoint::rdma::session
