// Tests over a device of this host or, where there is none, over a fake one: the same endpoint, and
// functions in place of libibverbs'. Two endpoints of one process, joined by the device's own
// loopback.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "rdma/verbs/device.h"
#include "tests/rdma/fakes/fabric.h"

namespace chokepoint::rdma::verbs {

// Memory that the device knows.
struct Piece {
  std::vector<std::byte> bytes;
  std::unique_ptr<Region> region;

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes.data()); }
  LocalMemory local(std::uint32_t length, std::size_t offset = 0) const {
    return {.address = address() + offset, .bytes = length, .key = region->local_key()};
  }
  void fill(std::byte with) { std::ranges::fill(bytes, with); }
};

struct Ends {
  std::unique_ptr<Endpoint> source;
  std::unique_ptr<Endpoint> target;
};

class LiveTest : public testing::Test {
 protected:
  void SetUp() override;
  // The fake device, even if this host has a real one.
  void use_fabric();

  Device& device() { return *device_; }
  EndpointOptions options(Transport transport = Transport::Rc) const;
  // Short enough that a peer that is gone shows within a second.
  static PathOptions path();

  Piece piece(std::size_t bytes);
  Piece piece(std::size_t bytes, const Rights& peers);
  Ends open_ends(const EndpointOptions& options);
  Ends connected_ends(const EndpointOptions& options, const PathOptions& path);
  Ends connected_ends(Transport transport = Transport::Rc) {
    return connected_ends(options(transport), path());
  }

  void use_first_device();

  std::unique_ptr<fakes::FakeFabric> fabric_;  // null: a device of this host
  std::unique_ptr<Library> library_;
  std::string name_;
  std::unique_ptr<Device> device_;
  int gid_index_ = 0;
};

// What only the kernel shows: skipped where this host has no device.
class KernelTest : public LiveTest {
 protected:
  void SetUp() override;
};

// The next completion; a test that waits longer than some seconds for it has failed.
Completion next_send(Endpoint& endpoint);
Completion next_receive(Endpoint& endpoint);

SendRequest to_remote(Operation operation, const Piece& from, const Piece& to,
                      std::uint32_t length);
// Lays out one request, posts it aloud and waits for it.
Completion complete(Endpoint& endpoint, const SendRequest& request);

}  // namespace chokepoint::rdma::verbs
