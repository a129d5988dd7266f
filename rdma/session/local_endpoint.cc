#include "rdma/session/local_endpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/host/network.h"
#include "base/host/rdma.h"

namespace chokepoint::rdma::session {
namespace {

using verbs::EndpointOptions;

Result<std::unique_ptr<verbs::Buffer>> make_buffer(std::uint64_t bytes, const Memory& memory,
                                                   std::optional<int> numa_node) {
  if (memory.kind == Memory::Kind::Gpu) {
    return verbs::gpu_buffer(bytes, {.gpu = memory.gpu});
  }
  const verbs::Pages pages =
      memory.kind == Memory::Kind::Huge ? verbs::Pages::Huge : verbs::Pages::Ordinary;
  return verbs::host_buffer(bytes, {.pages = pages, .numa_node = numa_node});
}

EndpointOptions options_of(const perf::Plan& plan, const PortChoice& choice) {
  return {.transport = plan.transport,
          .port = choice.port,
          .gid_index = choice.gid_index,
          .queues = plan.queue_pairs,
          .send_depth = perf::send_depth(plan),
          .receive_depth = perf::receive_depth(plan),
          .inline_bytes = plan.inline_bytes,
          .events = plan.events};
}

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

Result<std::unique_ptr<LocalEndpoint>> LocalEndpoint::open(std::unique_ptr<verbs::Library> library,
                                                           const PortChoice& choice,
                                                           verbs::Transport transport) {
  TRY(std::unique_ptr<verbs::Device> device, library->open(choice.device));
  std::unique_ptr<LocalEndpoint> endpoint(
      new LocalEndpoint(std::move(library), std::move(device), choice));
  TRY(endpoint->read_port());
  TRY(endpoint->device_->open_endpoint(
      {.transport = transport, .port = choice.port, .gid_index = choice.gid_index}));
  return endpoint;
}

Result<> LocalEndpoint::read_port() {
  TRY(const verbs::Port port, device_->port(choice_.port));
  const auto gid = std::ranges::find(port.gids, choice_.gid_index, &verbs::GidEntry::index);
  if (port.ethernet && gid == port.gids.end()) {
    return fail(ErrorKind::Usage, "", fmt::format("GID index {}", choice_.gid_index),
                fmt::format("{} port {} has no such GID", choice_.device, choice_.port),
                "'chokepoint rdma devices' lists what there is");
  }
  facts_ = {.device = choice_.device,
            .port = choice_.port,
            .netdev = choice_.netdev,
            .rate = choice_.rate,
            .ethernet = port.ethernet,
            .gid_index = choice_.gid_index,
            .lid = port.lid,
            .active_mtu_bytes = port.active_mtu_bytes,
            .max_mtu_bytes = port.max_mtu_bytes,
            .limits = device_->limits()};
  if (gid != port.gids.end()) {
    facts_.gid = gid->gid;
    facts_.gid_type = gid->type;
  }
  return {};
}

Result<> LocalEndpoint::provide_memory(std::uint64_t bytes, const Memory& memory,
                                       verbs::Operation operation, bool relaxed_ordering) {
  TRY(buffer_, make_buffer(bytes, memory, choice_.numa_node));
  TRY(region_,
      device_->register_memory(buffer_->view(), verbs::needed_for(operation), relaxed_ordering));
  return {};
}

void LocalEndpoint::close_queues() {
  connections_.reset();
  endpoint_.reset();
}

Result<> LocalEndpoint::open_queues(perf::Plan& plan, bool inline_asked) {
  close_queues();
  Result<std::unique_ptr<verbs::Endpoint>> endpoint =
      device_->open_endpoint(options_of(plan, choice_));
  if (!endpoint && plan.inline_bytes > 0 && !inline_asked) {
    plan.inline_bytes = 0;
    endpoint = device_->open_endpoint(options_of(plan, choice_));
  }
  TRY(endpoint_, std::move(endpoint));
  return {};
}

SideAddresses LocalEndpoint::addresses() const {
  return {.endpoint = endpoint_->address(), .memory = region_->remote()};
}

Result<> LocalEndpoint::connect(const SideAddresses& peer, const verbs::PathOptions& path) {
  set_remote(peer.memory);
  return endpoint_->connect(peer.endpoint, path);
}

Result<> LocalEndpoint::accept(verbs::CmListener& listener, const verbs::PathOptions& path,
                               const net::Deadline& deadline) {
  TRY(connections_, listener.accept(*endpoint_, path, deadline));
  return {};
}

Result<> LocalEndpoint::connect_by_cm(const verbs::CmPeer& cm_peer, const verbs::PathOptions& path,
                                      const net::Deadline& deadline) {
  TRY(connections_, verbs::connect_by_cm(*endpoint_, cm_peer, path, deadline));
  return {};
}

perf::Side LocalEndpoint::side(perf::Role role, perf::TestMonitor& monitor,
                               std::string peer) const {
  return {.role = role,
          .endpoint = *endpoint_,
          .buffer = *buffer_,
          .region = *region_,
          .remote = remote_,
          .monitor = monitor,
          .peer = std::move(peer)};
}

Result<std::unique_ptr<LocalEndpoint>> open_here(const sys::Root& root,
                                                 std::unique_ptr<verbs::Library> library,
                                                 const PortRequest& wish,
                                                 const net::Address& control,
                                                 verbs::Transport transport) {
  TRY(const PortChoice choice,
      choose_port(host::read_rdma(root), wish,
                  {.address = control.unmapped(), .netdev = netdev_of(root, control)}));
  return LocalEndpoint::open(std::move(library), choice, transport);
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
