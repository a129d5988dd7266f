#include "tests/rdma/fakes/fabric.h"

#include <algorithm>
#include <cstdio>

#include "tests/rdma/fakes/fabric_state.h"

namespace chokepoint::fakes {
namespace {

namespace verbs = rdma::verbs;
using StatePtr = std::shared_ptr<FakeFabric::State>;

class FakeLibrary final : public verbs::Library {
 public:
  FakeLibrary(StatePtr state, std::vector<std::string> names)
      : state_(std::move(state)), names_(std::move(names)) {}

  Result<std::vector<std::string>> devices() override { return names_; }

  Result<std::unique_ptr<verbs::Device>> open(const std::string& name) override {
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
      return fail(ErrorKind::NotFound, "open", name, "no such RDMA device");
    }
    return verbs::Device::open(fake_api(), state_->devices.at(name));
  }

 private:
  StatePtr state_;
  std::vector<std::string> names_;
};

// What has to wait is looked at again every so often; nothing is looked at where nothing waits.
void carry(FakeFabric::State& state) {
  constexpr std::chrono::microseconds kAgain{100};
  std::unique_lock hold(state.lock);
  while (!state.over) {
    if (deliver_all(state)) {
      state.changed.wait_for(hold, kAgain);
    } else {
      state.changed.wait(hold);
    }
  }
}

verbs::Gid link_local(std::uint8_t last) {
  return {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}};
}

verbs::Gid mapped(std::array<std::uint8_t, 4> ipv4) {
  return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ipv4[0], ipv4[1], ipv4[2], ipv4[3]}};
}

}  // namespace

FakeDevice fake_device(std::string name, std::array<std::uint8_t, 4> ipv4) {
  using verbs::GidType;
  const std::vector<verbs::GidEntry> gids = {
      {.index = 0, .gid = link_local(ipv4[3]), .type = GidType::RoceV1},
      {.index = 1, .gid = link_local(ipv4[3]), .type = GidType::RoceV2},
      {.index = 2, .gid = mapped(ipv4), .type = GidType::RoceV1},
      {.index = 3, .gid = mapped(ipv4), .type = GidType::RoceV2}};
  return {.name = std::move(name),
          .port = {.number = 1,
                   .state = verbs::PortState::Active,
                   .ethernet = true,
                   .active_mtu_bytes = 1024,
                   .max_mtu_bytes = 4096,
                   .gids = gids},
          .limits = {.queue_pairs = 1024,
                     .depth = 4096,
                     .completions = 65536,
                     .reads_as_target = 16,
                     .reads_as_source = 16,
                     .atomics = true}};
}

FakeFabric::FakeFabric(std::vector<FakeDevice> devices) : state_(std::make_shared<State>()) {
  for (FakeDevice& device : devices) {
    FabricDevice& made = state_->devices[device.name];
    made.state = state_.get();
    std::snprintf(made.ibv_device::name, sizeof made.ibv_device::name, "%s", device.name.c_str());
    made.what = std::move(device);
  }
  state_->wire = std::thread([state = state_.get()] { carry(*state); });
}

FakeFabric::~FakeFabric() {
  {
    const std::lock_guard hold(state_->lock);
    state_->over = true;
    state_->changed.notify_all();
  }
  state_->wire.join();
}

std::unique_ptr<verbs::Library> FakeFabric::library(std::vector<std::string> devices) {
  if (devices.empty()) {
    for (const auto& [name, device] : state_->devices) {
      devices.push_back(name);
    }
  }
  return std::make_unique<FakeLibrary>(state_, std::move(devices));
}

void FakeFabric::set_faults(const std::string& device, FakeFaults faults) {
  const std::lock_guard hold(state_->lock);
  state_->devices.at(device).faults = std::move(faults);
}

void FakeFabric::set_port(const std::string& device, verbs::Port port) {
  const std::lock_guard hold(state_->lock);
  state_->devices.at(device).what.port = std::move(port);
}

FakeTraffic FakeFabric::traffic(const std::string& device) const {
  const std::lock_guard hold(state_->lock);
  return state_->devices.at(device).traffic;
}

void FakeFabric::set_deadline(std::chrono::milliseconds deadline) {
  const std::lock_guard hold(state_->lock);
  state_->deadline = deadline;
}

}  // namespace chokepoint::fakes
