#include "rdma/verbs/device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "rdma/verbs/api.h"
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
  std::ranges::copy(raw.gid.raw, entry.gid.bytes.begin());
  return entry;
}

Result<ibv_port_attr> query_port(const Api& api, ibv_context* context, int number,
                                 std::string_view device) {
  ibv_port_attr attributes{};
  // The symbol fills only the first fields of the structure, those of its oldest version.
  const int code = api.query_port(context, static_cast<std::uint8_t>(number),
                                  reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
  if (code != 0) {
    return fail(from_errno(code, "query port", fmt::format("{} port {}", device, number)));
  }
  return attributes;
}

Result<std::vector<ibv_gid_entry>> query_gids(const Api& api, ibv_context* context, int ports,
                                              std::string_view device) {
  std::size_t most = 0;
  for (int number = 1; number <= ports; ++number) {
    TRY(const ibv_port_attr attributes, query_port(api, context, number, device));
    most += static_cast<std::size_t>(attributes.gid_tbl_len);
  }
  std::vector<ibv_gid_entry> entries(most);
  const ssize_t found =
      api.query_gid_table(context, entries.data(), most, 0, sizeof(ibv_gid_entry));
  if (found < 0) {
    return fail(from_errno(static_cast<int>(-found), "query GID table", device));
  }
  entries.resize(static_cast<std::size_t>(found));
  return entries;
}

unsigned access_of(const Rights& peers) {
  unsigned access = IBV_ACCESS_LOCAL_WRITE;
  access |= peers.write ? unsigned{IBV_ACCESS_REMOTE_WRITE} : 0U;
  access |= peers.read ? unsigned{IBV_ACCESS_REMOTE_READ} : 0U;
  access |= peers.atomic ? unsigned{IBV_ACCESS_REMOTE_ATOMIC} : 0U;
  return access;
}

ibv_mr* register_host(const Api& api, ibv_pd* domain, const MemoryView& memory, unsigned access,
                      bool relaxed_ordering) {
  // Addresses are kept as numbers, since they may also be of GPU memory.
  auto* address = reinterpret_cast<void*>(memory.address);  // NOLINT(performance-no-int-to-ptr)
  if (relaxed_ordering && api.reg_mr_iova2 != nullptr) {
    return api.reg_mr_iova2(domain, address, memory.bytes, memory.address,
                            access | IBV_ACCESS_RELAXED_ORDERING);
  }
  return api.reg_mr(domain, address, memory.bytes, static_cast<int>(access));
}

// The devices that libibverbs has a provider for; devices opened of it outlive the list.
class DeviceList {
 public:
  explicit DeviceList(const Api& api) : free_(api.free_device_list) {
    errno = 0;
    list_ = api.get_device_list(&count_);
    code_ = list_ == nullptr ? errno : 0;
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList() {
    if (list_ != nullptr) {
      free_(list_);
    }
  }

  // A kernel without RDMA: a host without devices, no error.
  int code() const { return code_ == ENOSYS || code_ == ENOENT ? 0 : code_; }
  int count() const { return list_ == nullptr ? 0 : count_; }
  ibv_device& at(int index) const { return *list_[index]; }

 private:
  decltype(&::ibv_free_device_list) free_;
  ibv_device** list_ = nullptr;
  int count_ = 0;
  int code_ = 0;
};

Error no_such_device(const std::string& name, const DeviceList& list) {
  Error error{ErrorKind::NotFound, "open device", name, 0, "no such RDMA device", {}};
  std::string others;
  for (int index = 0; index < list.count(); ++index) {
    others += fmt::format("{}{}", others.empty() ? "" : ", ", list.at(index).name);
  }
  if (!others.empty()) {
    error.next_step = "this host has " + others;
  } else if (access("/dev/infiniband", F_OK) != 0) {
    error.reason = "no RDMA device here: there is no /dev/infiniband";
    error.next_step =
        "modprobe ib_uverbs and the card's driver; a container must be given "
        "/dev/infiniband";
  } else {
    error.reason = "libibverbs finds no RDMA device here";
    error.next_step = "rdma link; modprobe ib_uverbs; apt install ibverbs-providers";
  }
  return error;
}

class LiveLibrary final : public Library {
 public:
  Result<std::vector<std::string>> devices() override;
  Result<std::unique_ptr<Device>> open(const std::string& name) override;
};

Result<std::vector<std::string>> LiveLibrary::devices() {
  TRY(const auto api, host_api());
  const DeviceList list(*api);
  if (list.code() != 0) {
    return fail(from_errno(list.code(), "list devices", "libibverbs"));
  }
  std::vector<std::string> names;
  for (int index = 0; index < list.count(); ++index) {
    names.emplace_back(list.at(index).name);
  }
  return names;
}

Result<std::unique_ptr<Device>> LiveLibrary::open(const std::string& name) {
  TRY(const auto api, host_api());
  const DeviceList list(*api);
  for (int index = 0; index < list.count(); ++index) {
    if (name == list.at(index).name) {
      return Device::open(api, list.at(index));
    }
  }
  return fail(no_such_device(name, list));
}

}  // namespace

Device::Device(std::shared_ptr<const Api> api, std::string name, Owned<ibv_context> context,
               Owned<ibv_pd> domain)
    : api_(std::move(api)),
      name_(std::move(name)),
      context_(std::move(context)),
      domain_(std::move(domain)) {}

Result<std::unique_ptr<Device>> Device::open(std::shared_ptr<const Api> api, ibv_device& device) {
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
  std::unique_ptr<Device> opened(
      new Device(std::move(api), name, std::move(context), std::move(domain)));
  opened->limits_ = limits_of(attributes);
  opened->ports_ = attributes.phys_port_cnt;
  return opened;
}

Result<Port> Device::port(int number) const {
  if (number < 1 || number > ports_) {
    return fail(ErrorKind::NotFound, "query port", fmt::format("{} port {}", name_, number),
                "the device has no such port", fmt::format("it has 1 to {}", ports_));
  }
  TRY(const auto attributes, query_port(*api_, context_.get(), number, name_));
  TRY(const auto entries, query_gids(*api_, context_.get(), ports_, name_));
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

Result<std::unique_ptr<Endpoint>> Device::open_endpoint(const EndpointOptions& options) {
  TRY(within_limits(options, limits_, name_));
  TRY(const Port there, port(options.port));
  TRY(const GidEntry gid, usable_gid(there, options.gid_index, name_));
  return Endpoint::open({.api = api_,
                         .device = name_,
                         .context = context_.get(),
                         .domain = domain_.get(),
                         .limits = limits_,
                         .port = there,
                         .gid = gid.gid},
                        options);
}

std::uint32_t Region::local_key() const { return region_->lkey; }

RemoteMemory Region::remote() const {
  return {.address = memory_.address, .bytes = memory_.bytes, .key = region_->rkey};
}

Result<std::unique_ptr<Region>> Device::register_memory(const MemoryView& memory,
                                                        const Rights& peers,
                                                        bool relaxed_ordering) {
  const unsigned access = access_of(peers);
  errno = 0;
  Owned<ibv_mr> region(nullptr, api_->dereg_mr);
  if (!memory.dmabuf) {
    region.reset(register_host(*api_, domain_.get(), memory, access, relaxed_ordering));
  } else if (api_->reg_dmabuf_mr != nullptr) {
    const unsigned ordering = relaxed_ordering ? unsigned{IBV_ACCESS_RELAXED_ORDERING} : 0U;
    region.reset(api_->reg_dmabuf_mr(domain_.get(), memory.dmabuf_offset, memory.bytes,
                                     memory.address, *memory.dmabuf,
                                     static_cast<int>(access | ordering)));
  } else {
    return fail(ErrorKind::Unsupported, "register dma-buf", name_,
                "libibverbs is too old to know of dma-buf", "rdma-core 34 or newer is needed");
  }
  if (!region) {
    const bool host = !memory.dmabuf;
    return fail(refused_resource(errno, host ? "register memory" : "register dma-buf", name_,
                                 memory_lock_limit()));
  }
  return std::make_unique<Region>(std::move(region), memory);
}

std::unique_ptr<Library> live_library() { return std::make_unique<LiveLibrary>(); }

}  // namespace chokepoint::rdma::verbs
