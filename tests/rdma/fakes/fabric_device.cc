#include "tests/rdma/fakes/fabric_state.h"

namespace chokepoint::fakes {
namespace {

namespace verbs = rdma::verbs;
using StatePtr = std::shared_ptr<FakeFabric::State>;

class FakeRegion final : public verbs::Region {
 public:
  FakeRegion(StatePtr state, FabricDevice& device, const verbs::MemoryView& memory,
             const verbs::Rights& peers)
      : state_(std::move(state)),
        device_(device),
        remote_{.address = memory.address, .bytes = memory.bytes, .key = state_->next_key++} {
    device_.regions[remote_.key] = {
        .address = memory.address, .bytes = memory.bytes, .peers = peers};
    ++device_.traffic.regions;
  }
  FakeRegion(const FakeRegion&) = delete;
  FakeRegion& operator=(const FakeRegion&) = delete;
  ~FakeRegion() override {
    const std::lock_guard hold(state_->lock);
    device_.regions.erase(remote_.key);
    --device_.traffic.regions;
  }

  std::uint32_t local_key() const override { return remote_.key; }
  verbs::RemoteMemory remote() const override { return remote_; }

 private:
  StatePtr state_;
  FabricDevice& device_;
  verbs::RemoteMemory remote_;
};

class OpenDevice final : public verbs::Device {
 public:
  OpenDevice(StatePtr state, FabricDevice& device) : state_(std::move(state)), device_(device) {}

  const std::string& name() const override { return device_.what.name; }
  const verbs::DeviceLimits& limits() const override { return device_.what.limits; }

  Result<verbs::Port> port(int number) const override {
    const std::lock_guard hold(state_->lock);
    if (number != device_.what.port.number) {
      return fail(ErrorKind::NotFound, "port", device_.what.name, "no such port");
    }
    return device_.what.port;
  }

  Result<std::unique_ptr<verbs::Region>> register_memory(const verbs::MemoryView& memory,
                                                         const verbs::Rights& peers,
                                                         bool /*relaxed_ordering*/) override {
    const std::lock_guard hold(state_->lock);
    if (device_.faults.register_memory) {
      return fail(*device_.faults.register_memory);
    }
    return std::make_unique<FakeRegion>(state_, device_, memory, peers);
  }

  Result<std::unique_ptr<verbs::Endpoint>> open_endpoint(
      const verbs::EndpointOptions& options) override {
    return open_fake_endpoint(state_, device_, options);
  }

 private:
  StatePtr state_;
  FabricDevice& device_;
};

}  // namespace

std::unique_ptr<verbs::Device> open_fake_device(StatePtr state, FabricDevice& device) {
  return std::make_unique<OpenDevice>(std::move(state), device);
}

}  // namespace chokepoint::fakes
