// What the fabric's parts share, derived from the structures of libibverbs. Everything here is read
// and written under State::lock, but for the count of completions that wait, which pollers look at
// first.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rdma/verbs/api.h"
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

struct FabricDevice : ibv_device {
  FakeFabric::State* state = nullptr;
  FakeDevice what = {};
  FakeFaults faults = {};
  FakeTraffic traffic = {};
  std::map<std::uint32_t, FabricRegion> regions = {};
};

struct FabricChannel : ibv_comp_channel {
  ibv_cq* queue = nullptr;
};

struct FabricPair;

struct FabricQueue : ibv_cq {
  struct Entry {
    ibv_wc completion = {};
    FabricPair* pair = nullptr;
    std::size_t retires = 0;  // slots of the send queue
  };
  FabricDevice* device = nullptr;
  std::deque<Entry> entries = {};
  std::atomic<std::size_t> waiting = 0;
  bool is_armed = false;

  void push(const Entry& entry);
};

// A request for a message, as it was posted.
struct Message {
  rdma::verbs::SendRequest request = {};
  std::uint64_t wr_id = 0;
  bool aloud = false;
  std::uint64_t number = 0;
  std::vector<std::byte> inlined = {};
  FabricClock::time_point ready = {};
  FabricClock::time_point give_up = {};
};

struct PostedReceive {
  std::uint64_t wr_id = 0;
  rdma::verbs::LocalMemory memory = {};
};

struct FabricPair : ibv_qp {
  rdma::verbs::Transport transport = rdma::verbs::Transport::Rc;
  std::size_t send_depth = 0;
  std::size_t receive_depth = 0;
  std::size_t inline_bytes = 0;
  FabricDevice* device = nullptr;
  FabricQueue* sends = nullptr;
  FabricQueue* receives = nullptr;

  std::optional<std::uint32_t> peer = {};  // of a datagram: that of the last one
  bool is_ready = false;                   // to send
  bool waits_for_ever = true;              // for a receive
  bool broken = false;
  std::deque<Message> under_way = {};
  std::deque<PostedReceive> posted_receives = {};
  std::size_t outstanding = 0;
  std::size_t unretired = 0;  // delivered since the last completion
};

struct FakeFabric::State {
  std::mutex lock;
  std::condition_variable changed;
  std::map<std::string, FabricDevice> devices = {};
  std::map<std::uint32_t, FabricPair*> pairs = {};
  std::chrono::milliseconds deadline{50};
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

// The functions that take the place of libibverbs.
std::shared_ptr<const rdma::verbs::Api> fake_api();

}  // namespace chokepoint::fakes
