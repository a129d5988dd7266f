#include <cerrno>

#include "rdma/verbs/live_device.h"
#include "rdma/verbs/refusal.h"

namespace chokepoint::rdma::verbs {
namespace {

unsigned access_of(const Rights& peers) {
  unsigned access = IBV_ACCESS_LOCAL_WRITE;
  access |= peers.write ? unsigned{IBV_ACCESS_REMOTE_WRITE} : 0U;
  access |= peers.read ? unsigned{IBV_ACCESS_REMOTE_READ} : 0U;
  access |= peers.atomic ? unsigned{IBV_ACCESS_REMOTE_ATOMIC} : 0U;
  return access;
}

class LiveRegion final : public Region {
 public:
  LiveRegion(Owned<ibv_mr> region, const MemoryView& memory)
      : region_(std::move(region)), memory_(memory) {}

  std::uint32_t local_key() const override { return region_->lkey; }
  RemoteMemory remote() const override {
    return {.address = memory_.address, .bytes = memory_.bytes, .key = region_->rkey};
  }

 private:
  Owned<ibv_mr> region_;
  MemoryView memory_;
};

ibv_mr* register_host(const Api& api, ibv_pd* domain, const MemoryView& memory, unsigned access,
                      bool relaxed_ordering) {
  // Addresses of the processor travel as numbers: GPU memory has such, too.
  auto* address = reinterpret_cast<void*>(memory.address);  // NOLINT(performance-no-int-to-ptr)
  if (relaxed_ordering && api.reg_mr_iova2 != nullptr) {
    return api.reg_mr_iova2(domain, address, memory.bytes, memory.address,
                            access | IBV_ACCESS_RELAXED_ORDERING);
  }
  return api.reg_mr(domain, address, memory.bytes, static_cast<int>(access));
}

}  // namespace

Result<std::unique_ptr<Region>> LiveDevice::register_memory(const MemoryView& memory,
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
  return std::make_unique<LiveRegion>(std::move(region), memory);
}

}  // namespace chokepoint::rdma::verbs
