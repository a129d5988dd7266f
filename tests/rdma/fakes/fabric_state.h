// What the fabric's parts share. Everything here is read and written under State::lock, but for the
// count of completions that wait, which pollers look at first.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/rdma/fakes/fabric.h"

namespace chokepoint::fakes {

using FabricClock = std::chrono::steady_clock;

struct FabricRegion {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  rdma::verbs::Rights peers = {};

  bool holds(std::uint64_t start, std::uint64_t length) const {
    return start >= address && length <= bytes && start - address <= bytes - length;
  }
};

struct FabricDevice {
  FakeDevice what = {};
  FakeFaults faults = {};
  FakeTraffic traffic = {};
  std::map<std::uint32_t, FabricRegion> regions = {};
};

struct CompletionQueue {
  struct Entry {
    rdma::verbs::Completion completion = {};
    std::size_t retires = 0;  // slots of the send queue
  };
  std::deque<Entry> entries = {};
  std::atomic<std::size_t> waiting = 0;

  void push(const rdma::verbs::Completion& completion, std::size_t retires) {
    entries.push_back({completion, retires});
    waiting = entries.size();
  }
};

struct Message {
  rdma::verbs::SendRequest request = {};
  std::uint32_t place = 0;
  bool aloud = false;
  std::uint64_t number = 0;
  std::vector<std::byte> inlined = {};
  FabricClock::time_point ready = {};
  FabricClock::time_point give_up = {};
};

struct FabricPair {
  std::uint32_t number = 0;
  int index = 0;
  rdma::verbs::EndpointOptions options = {};
  FabricDevice* device = nullptr;
  CompletionQueue* sends = nullptr;
  CompletionQueue* receives = nullptr;

  std::optional<std::uint32_t> peer = {};
  bool waits_for_ever = true;  // for a receive
  bool broken = false;
  std::vector<rdma::verbs::SendRequest> send_ring = {};
  std::vector<rdma::verbs::LocalMemory> receive_ring = {};
  std::deque<Message> under_way = {};
  std::deque<std::uint32_t> posted_receives = {};
  std::size_t outstanding = 0;
  std::size_t unretired = 0;  // delivered since the last completion
};

struct FakeFabric::State {
  std::mutex lock;
  std::condition_variable changed;
  std::map<std::string, FabricDevice> devices = {};
  std::map<std::uint32_t, FabricPair*> pairs = {};
  std::chrono::milliseconds patience{50};
  std::uint32_t next_pair = 0x11;
  std::uint32_t next_key = 0x1000;
  bool over = false;
  std::thread wire = {};

  FabricPair* pair(std::optional<std::uint32_t> number) const {
    const auto found = number ? pairs.find(*number) : pairs.end();
    return found == pairs.end() ? nullptr : found->second;
  }
};

// All that can be; in order, as far as the first message that has to wait.
void deliver(FakeFabric::State& state, FabricPair& pair);
// Of every pair. Whether something still waits.
bool deliver_all(FakeFabric::State& state);

Result<std::unique_ptr<rdma::verbs::Endpoint>> open_fake_endpoint(
    const std::shared_ptr<FakeFabric::State>& state, FabricDevice& device,
    const rdma::verbs::EndpointOptions& options);
std::unique_ptr<rdma::verbs::Device> open_fake_device(std::shared_ptr<FakeFabric::State> state,
                                                      FabricDevice& device);

}  // namespace chokepoint::fakes
