#include "rdma/session/choose_port.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rdma/session/choose_gid.h"

namespace chokepoint::rdma::session {
namespace {

using host::RdmaDevice;
using host::RdmaPort;

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

// What is emulated in software names a rate that is nobody's.
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

Result<Candidates> as_wished(const Candidates& all, const PortWish& wish) {
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

// A link-local address is made of the card's own; with several cards it belongs to one all the
// same.
Candidates beside(const Candidates& candidates, const ControlEnd& control) {
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
          .next_step = !ethernet ? "does a subnet manager run? 'ibstat' tells the state"
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
  const Candidates near = beside(candidates, control);
  return the_active_one(near.empty() ? candidates : near);
}

}  // namespace

Result<PortChoice> choose_port(const std::vector<RdmaDevice>& devices, const PortWish& wish,
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
