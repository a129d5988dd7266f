#include "rdma/session/host_side.h"

#include "base/host/network.h"
#include "base/host/rdma.h"

namespace chokepoint::rdma::session {
namespace {

std::string netdev_of(const sys::Root& root, const net::Address& address) {
  const host::Addresses known = host::read_addresses(root);
  if (known.addresses) {
    for (const host::InterfaceAddress& each : *known.addresses) {
      if (each.address.bytes() == address.unmapped().bytes()) {
        return each.interface;
      }
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Station>> open_here(const sys::Root& root,
                                           std::unique_ptr<verbs::Library> library,
                                           const PortWish& wish, const net::Address& control,
                                           verbs::Transport transport) {
  const Result<PortChoice> choice =
      choose_port(host::read_rdma(root), wish,
                  {.address = control.unmapped(), .netdev = netdev_of(root, control)});
  if (!choice) {
    return std::unexpected(choice.error());
  }
  return Station::open(std::move(library), *choice, transport);
}

FabricWatch::FabricWatch(const sys::Root& root, const SideFacts& side)
    : root_(root),
      device_(side.device),
      port_(side.port),
      links_(host::link_query_for(root)),
      before_(read()) {}

fabric::PortCounters FabricWatch::read() const {
  return fabric::read_counters(root_, device_, port_, *links_);
}

fabric::Changes FabricWatch::changes() const { return fabric::changes(before_, read()); }

}  // namespace chokepoint::rdma::session
