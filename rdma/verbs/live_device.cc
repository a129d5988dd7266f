#include "rdma/verbs/live_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "rdma/verbs/live_endpoint.h"
#include "rdma/verbs/mtu.h"
#include "rdma/verbs/refusal.h"

namespace chokepoint::rdma::verbs {
namespace {

DeviceLimits limits_of(const ibv_device_attr& attributes) {
  return {.queue_pairs = attributes.max_qp,
          .depth = attributes.max_qp_wr,
          .completions = attributes.max_cqe,
          .reads_as_target = attributes.max_qp_rd_atom,
          .reads_as_source = attributes.max_qp_init_rd_atom,
          .atomics = attributes.atomic_cap != IBV_ATOMIC_NONE};
}

PortState state_of(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_DOWN:
      return PortState::Down;
    case IBV_PORT_INIT:
      return PortState::Initialising;
    case IBV_PORT_ARMED:
      return PortState::Armed;
    case IBV_PORT_ACTIVE:
      return PortState::Active;
    default:
      return PortState::Unknown;
  }
}

GidType type_of(std::uint32_t type) {
  switch (type) {
    case IBV_GID_TYPE_ROCE_V1:
      return GidType::RoceV1;
    case IBV_GID_TYPE_ROCE_V2:
      return GidType::RoceV2;
    default:
      return GidType::InfiniBand;
  }
}

GidEntry entry_of(const ibv_gid_entry& raw) {
  GidEntry entry{.index = static_cast<int>(raw.gid_index),
                 .type = type_of(raw.gid_type),
                 .interface_index = raw.ndev_ifindex};
  std::ranges::copy(raw.gid.raw, entry.gid.begin());
  return entry;
}

}  // namespace

LiveDevice::LiveDevice(std::shared_ptr<const Api> api, std::string name, Owned<ibv_context> context,
                       Owned<ibv_pd> domain, const ibv_device_attr& attributes)
    : api_(std::move(api)),
      name_(std::move(name)),
      context_(std::move(context)),
      domain_(std::move(domain)),
      limits_(limits_of(attributes)),
      ports_(attributes.phys_port_cnt) {}

Result<std::unique_ptr<Device>> LiveDevice::open(std::shared_ptr<const Api> api,
                                                 ibv_device& device) {
  const std::string name = device.name;
  errno = 0;
  Owned<ibv_context> context(api->open_device(&device), api->close_device);
  if (!context) {
    const std::string file = device.dev_name;
    return fail(refused_to_open(code_for_file("/dev/infiniband/" + file, errno), name, file));
  }
  ibv_device_attr attributes{};
  if (const int code = api->query_device(context.get(), &attributes); code != 0) {
    return fail(from_errno(code, "query device", name));
  }
  Owned<ibv_pd> domain(api->alloc_pd(context.get()), api->dealloc_pd);
  if (!domain) {
    return fail(refused_resource(errno, "allocate protection domain", name, memory_lock_limit()));
  }
  return std::unique_ptr<Device>(
      new LiveDevice(std::move(api), name, std::move(context), std::move(domain), attributes));
}

Result<ibv_port_attr> LiveDevice::query_port(int number) const {
  if (number < 1 || number > ports_) {
    return fail(ErrorKind::NotFound, "query port", fmt::format("{} port {}", name_, number),
                "the device has no such port", fmt::format("it has 1 to {}", ports_));
  }
  ibv_port_attr attributes{};
  // The symbol fills the part of the structure that there has always been.
  const int code = api_->query_port(context_.get(), static_cast<std::uint8_t>(number),
                                    reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
  if (code != 0) {
    return fail(from_errno(code, "query port", fmt::format("{} port {}", name_, number)));
  }
  return attributes;
}

Result<std::vector<ibv_gid_entry>> LiveDevice::query_gids() const {
  std::size_t most = 0;
  for (int number = 1; number <= ports_; ++number) {
    TRY(const ibv_port_attr attributes, query_port(number));
    most += static_cast<std::size_t>(attributes.gid_tbl_len);
  }
  std::vector<ibv_gid_entry> entries(most);
  const ssize_t found =
      api_->query_gid_table(context_.get(), entries.data(), most, 0, sizeof(ibv_gid_entry));
  if (found < 0) {
    return fail(from_errno(static_cast<int>(-found), "query GID table", name_));
  }
  entries.resize(static_cast<std::size_t>(found));
  return entries;
}

Result<Port> LiveDevice::port(int number) const {
  TRY(const ibv_port_attr attributes, query_port(number));
  TRY(const std::vector<ibv_gid_entry> entries, query_gids());
  Port port{.number = number,
            .state = state_of(attributes.state),
            .ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET,
            .active_mtu_bytes = bytes_of(attributes.active_mtu),
            .max_mtu_bytes = bytes_of(attributes.max_mtu),
            .lid = attributes.lid};
  for (const ibv_gid_entry& entry : entries) {
    if (entry.port_num == static_cast<std::uint32_t>(number)) {
      port.gids.push_back(entry_of(entry));
    }
  }
  return port;
}

Result<std::unique_ptr<Endpoint>> LiveDevice::open_endpoint(const EndpointOptions& options) {
  TRY(within_limits(options, limits_, name_));
  TRY(const Port there, port(options.port));
  TRY(const GidEntry gid, usable_gid(there, options.gid_index, name_));
  return LiveEndpoint::open({.api = api_,
                             .device = name_,
                             .context = context_.get(),
                             .domain = domain_.get(),
                             .limits = limits_,
                             .port = there,
                             .gid = gid.gid},
                            options);
}

}  // namespace chokepoint::rdma::verbs
